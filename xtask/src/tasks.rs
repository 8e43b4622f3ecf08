//! The implementation of each command.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::args::{HELP, Task};
use crate::deny::Deny;
use crate::error::Error;
use crate::paths::Workspace;
use crate::report::say;
use crate::steps::Outcome;
use crate::wasm_std::WasmStd;
use crate::{
    book, check, debian_tools, deploy, e2e, fuzz, go_tools, image, local_run, measure, modules, npm_tools, process,
    python_tools, steps, suite_data, wasm_std,
};

/// Runs a task.
pub(crate) fn perform(task: Task) -> Result<ExitCode, Error> {
    let workspace = Workspace::find()?;
    match task {
        Task::Help => print!("{HELP}"),
        Task::Setup | Task::Modules => drop(setup(&workspace)?),
        Task::Run(args) => {
            setup(&workspace)?;
            return local_run::run(&workspace, &args);
        }
        Task::Test(args) => {
            let std = setup(&workspace)?;
            // Run all tests even if some fail, so that the last lines list every failed test.
            let mut cargo = process::cargo_locked(workspace.root(), "test");
            cargo.envs(python_tools::ensure());
            cargo.envs(npm_tools::ensure());
            // Tests build modules as authors do.
            cargo.envs(std.variable());
            cargo.envs(debian_tools::ensure());
            if let Some(helm) = go_tools::HELM.ensure() {
                cargo.env(go_tools::HELM.variable, helm);
            }
            return passed_through(cargo.args(["--workspace", "--no-fail-fast"]).args(args));
        }
        Task::Bench(args) => {
            setup(&workspace)?;
            return bench(&workspace, &args);
        }
        Task::Fuzz(options) => return fuzz::run(&workspace, &options),
        Task::Dist => dist(&workspace)?,
        Task::Image(options) => image::image(&workspace, &options)?,
        Task::Deploy => {
            setup(&workspace)?;
            deploy::write(&workspace)?;
        }
        Task::Bindings => return bindings(&workspace),
        Task::SuiteData => suite_data::write(&workspace)?,
        Task::E2e(options) => return e2e::e2e(&workspace, &options),
        Task::Book => book::make(&workspace)?,
        Task::Check => check::check(&workspace)?,
        Task::Measure => measure::print(&workspace)?,
        Task::Deny => deny(&workspace)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds everything that is missing: the standard library for modules, then the modules.
pub(crate) fn setup(workspace: &Workspace) -> Result<WasmStd, Error> {
    let start = Instant::now();
    let std = wasm_std::ensure()?;
    modules::build(workspace, &std)?;
    say(format_args!("set-up took {}", steps::seconds(start.elapsed())));
    Ok(std)
}

/// Runs a command and returns its exit code.
fn passed_through(command: &mut Command) -> Result<ExitCode, Error> {
    Ok(ExitCode::from(process::exit_code(process::status(command)?)))
}

/// Runs benchmarks. They also measure the binary, and look for it in their own directory. Both are
/// built together. Separately, cargo would give their shared crates different features, and compile
/// them twice.
fn bench(workspace: &Workspace, args: &[OsString]) -> Result<ExitCode, Error> {
    let mut cargo = process::cargo_locked(workspace.root(), "build");
    process::run_talkative(cargo.args(["--release", "-p", "plumbline-dev", "-p", "plumbline"]))?;
    let program = workspace.target().join("release/plumbline-dev");
    if args.iter().any(|arg| arg == "scale" || arg == "sonobuoy") {
        return e2e::bench(workspace, &program, args);
    }
    let mut bench = Command::new(program);
    // Only this part builds modules in other languages; the others need no downloads.
    if args.iter().any(|arg| arg == "languages") {
        bench.envs(python_tools::ensure()).envs(npm_tools::ensure());
    }
    passed_through(bench.arg("bench").args(args).current_dir(workspace.root()))
}

/// Writes the generated bindings. This needs no set-up, because it does not use modules.
fn bindings(workspace: &Workspace) -> Result<ExitCode, Error> {
    let mut cargo = process::cargo_locked(workspace.root(), "run");
    passed_through(cargo.args(["-p", "plumbline-bindings", "--", "write"]).arg(workspace.root()))
}

/// Builds a release. Prints the path and the size on stdout.
fn dist(workspace: &Workspace) -> Result<(), Error> {
    setup(workspace)?;
    process::run_talkative(process::cargo_locked(workspace.root(), "build").args(["--release", "-p", "plumbline"]))?;
    let binary = workspace.target().join("release/plumbline");
    let size = fs::metadata(&binary).map_err(Error::io("find the built binary", &binary))?.len();
    let mib = size as f64 / f64::from(1 << 20);
    println!("{} ({mib:.1} MiB)", binary.display());
    Ok(())
}

/// Checks only the dependency rules.
fn deny(workspace: &Workspace) -> Result<(), Error> {
    let deny = Deny::ensure()?;
    deny.rules(workspace)?;
    if let Outcome::Skipped(reason) = deny.advisories(workspace)? {
        say(format_args!("advisories skipped: {reason}"));
    }
    Ok(())
}
