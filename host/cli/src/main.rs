//! The `plumbline` binary: parses arguments, calls the other crates, and formats output. The logic
//! of runs is in those crates.
#![forbid(unsafe_code)]

mod args;
mod ci;
mod commands;
mod compat;
mod error;
mod logging;
mod output;
mod ui;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use args::global::Color;
use args::name::Name;
use args::tree::{HELP_ALL, as_plumbline, as_sonobuoy};
use args::{Cli, Command};
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use commands::conformance::{ConformanceCommand, print_help_of_profile};
use error::PrintError as _;

fn main() -> ExitCode {
    let args: Vec<OsString> = env::args_os().collect();
    let name = Name::of(args.first().map(OsString::as_os_str));
    if let Some(code) = commands::completion::complete(&args, || match name {
        Name::Plumbline => as_plumbline(Cli::command(), true),
        Name::Sonobuoy => as_sonobuoy(Cli::command()),
    }) {
        return code;
    }
    let cli = match name.parse(args.clone()) {
        Ok(cli) => cli,
        Err(error) => {
            let is_help = error.kind() == ErrorKind::DisplayHelp;
            let code = name.refuse(error);
            if is_help {
                print_more_help(name, args);
            }
            return code;
        }
    };
    if cli.global.quiet {
        ui::be_quiet();
    }
    match cli.global.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    cli.command.run(&cli.global).unwrap_or_else(|error| name.error(error.print()))
}

/// Prints what the help of the command does not contain, because it depends on other arguments.
fn print_more_help(name: Name, args: Vec<OsString>) {
    let is_help = |word: &OsString| ["-h", "--help", HELP_ALL].iter().any(|help| word == help);
    let cli = name.parse(args.into_iter().filter(|word| !is_help(word)));
    if let Ok(Cli { command: Command::Conformance(ConformanceCommand::Run(args)), .. }) = cli {
        print_help_of_profile(&args);
    }
}
