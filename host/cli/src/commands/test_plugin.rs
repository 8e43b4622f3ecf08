//! `plumbline test-plugin`

use std::io;
use std::process::ExitCode;

use plumbline_app::{AppError, test_plugin as app};

use crate::args::{RegistryArgs, TestPluginArgs, TestPluginCommand};
use crate::context::context;

/// Runs the test plugin.
pub(crate) fn test_plugin(args: &TestPluginArgs) -> Result<ExitCode, AppError> {
    let context = context(&RegistryArgs::default());
    let code = match &args.command {
        Some(TestPluginCommand::E2e(args)) => app::fake_suite(&context, &args.as_ref().into(), &mut io::stdout()),
        Some(TestPluginCommand::Attack(args)) => app::attack(&context, &args.into()),
        None => app::run(&context, &args.into()),
    };
    code.map(ExitCode::from)
}
