//! `plumbline compile-module`: the process in which the sandbox compiles modules of strangers.

use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::CompileModuleArgs;

/// Compiles the module on standard input onto standard output.
pub(crate) fn compile_module(args: &CompileModuleArgs) -> Result<ExitCode, AppError> {
    let code = plumbline_sandbox::compile_stdin(args.memory, args.cpu_seconds)
        .map_err(|error| AppError::system("failed to compile the module").because(&error))?;
    Ok(u8::try_from(code).unwrap_or(u8::MAX).into())
}
