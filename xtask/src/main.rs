//! `cargo xtask`: sets up the workspace's prerequisites, and runs its checks.
//!
//! `cargo xtask help` lists the commands. Everything that a fresh machine lacks is downloaded or
//! built here, and cached. Nothing is installed on the system, and every download is announced
//! first.

#![forbid(unsafe_code)]

mod apt;
mod args;
mod book;
mod browser;
mod built;
mod cargo_tool;
mod check;
mod debian_tools;
mod deny;
mod deploy;
mod e2e;
mod error;
mod fuzz;
mod go_tools;
mod image;
mod links;
mod local_run;
mod lock;
mod measure;
mod mirrors;
mod modules;
mod npm_tools;
mod paths;
mod process;
mod profile_names;
mod program;
mod prose;
mod python_tools;
mod release;
mod report;
mod steps;
mod suite_data;
mod target_std;
mod tasks;
#[cfg(test)]
mod test_script;
mod tools;

use std::env;
use std::process::ExitCode;

use args::Task;

fn main() -> ExitCode {
    let task = match Task::parse(env::args_os().skip(1)) {
        Ok(task) => task,
        Err(error) => {
            report::error(&error);
            return ExitCode::from(error.exit_code());
        }
    };
    match tasks::perform(task) {
        Ok(code) => code,
        Err(error) => {
            report::error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}
