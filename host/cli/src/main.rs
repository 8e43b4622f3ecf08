//! The `plumbline` binary: parses arguments, calls the other crates, and formats output. The logic
//! of runs is in those crates.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod compat;
mod context;
mod error;
mod hints;
mod logging;
mod output;
mod ui;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use args::{Color, Command, GetCommand, WorkerCommand};
use compat::Name;
use error::PrintError as _;

fn main() -> ExitCode {
    let args = compat::arguments(env::args_os());
    let name = Name::of(args.first().map(OsString::as_os_str));
    if let Some(code) = commands::completion::complete(&args) {
        return code;
    }
    let cli = match name.parse(args) {
        Ok(cli) => cli,
        Err(error) => return name.refuse(&error),
    };
    match cli.global.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let result = match cli.command {
        Command::Run(args) => commands::run::run(*args, &cli.global),
        Command::Status(args) => commands::status::status(&args, &cli.global),
        Command::Wait(args) => commands::wait::wait(&args, &cli.global),
        Command::Results(args) => commands::results::results(&args, &cli.global),
        Command::Retrieve(args) => commands::retrieve::retrieve(&args, &cli.global),
        Command::Delete(args) => commands::delete::delete(&args, &cli.global),
        Command::Get(args) => match args.command {
            GetCommand::Pod(args) => commands::get::pod(&args, &cli.global),
        },
        Command::Splat(args) => Ok(commands::splat::splat(&args)),
        Command::ArchivePiece(args) => commands::piece::piece(&args),
        Command::CompileModule(args) => commands::compile_module::compile_module(&args),
        Command::Gen(args) => commands::generate::generate(&args, &cli.global),
        Command::Logs(args) => commands::logs::logs(&args, &cli.global),
        Command::Query(args) => commands::query::query(&args, &cli.global),
        Command::Conformance(args) => commands::conformance::conformance(*args, &cli.global),
        Command::Submission(args) => commands::submission::submission(&args, &cli.global),
        Command::E2e(args) => commands::e2e::e2e(&args, &cli.global),
        Command::Modes(args) => commands::modes::modes(&args),
        Command::Images(args) => commands::images::images(&args, &cli.global),
        Command::Plugin(args) => commands::plugin::plugin(&args, &cli.global),
        Command::Version(args) => commands::version::version(&args),
        Command::Completion { shell } => commands::completion::completion(&shell),
        Command::Aggregator(args) => commands::aggregator::aggregator(&args, &cli.global),
        Command::Worker(args) => match args.command {
            WorkerCommand::Global(role) => commands::worker::global(&role, &cli.global),
            WorkerCommand::SingleNode(args) => commands::worker::single_node(&args, &cli.global),
            WorkerCommand::Facts(args) => commands::facts::facts(&args),
            WorkerCommand::NodeLogs(args) => commands::node_logs::node_logs(&args, &cli.global),
            WorkerCommand::InRoot(args) => Ok(commands::in_root::in_root(&args)),
        },
        Command::Report(args) => commands::report::report(&args, &cli.global),
        Command::TestPlugin(args) => commands::test_plugin::test_plugin(&args),
    };
    result.unwrap_or_else(|error| name.error(error.print()))
}
