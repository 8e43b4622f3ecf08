//! The implementation of each command.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Instant;

use crate::args::{HELP, Task};
use crate::deny::Deny;
use crate::error::Error;
use crate::paths::Workspace;
use crate::program::{Platform, Release};
use crate::report::print_status;
use crate::steps::Outcome;
use crate::target_std::{Target, TargetStd};
use crate::{
    book, browser, built, cargo_tool, check, debian_tools, deploy, e2e, fuzz, go_tools, image, local_run, measure,
    modules, npm_tools, process, program, python_tools, release, steps, suite_data, target_std, tools,
};

/// How many tests of a program run at the same time. Without it, as many as there are processors. But tests of whole
/// runs wait most of the time.
const TEST_THREADS: &str = "RUST_TEST_THREADS";
/// The variable that passes the path of wkg to the tests.
const WKG: &str = "PLUMBLINE_WKG";

/// Runs a task.
pub(crate) fn perform(task: Task) -> Result<ExitCode, Error> {
    let workspace = Workspace::find()?;
    match task {
        Task::Help => print!("{HELP}"),
        Task::Setup | Task::Modules => drop(setup(&workspace)?),
        Task::Run(args) => return local_run::run(&workspace, &args),
        Task::Test(args) => {
            let std = setup(&workspace)?;
            // Run all tests even if some fail, so that the last lines list every failed test.
            let mut cargo = process::cargo_locked(workspace.root(), "test");
            cargo.envs(python_tools::ensure());
            cargo.envs(npm_tools::ensure());
            // Tests build modules as authors do.
            cargo.envs(std.variable());
            cargo.envs(debian_tools::ensure());
            for tool in [go_tools::HELM, go_tools::KREW, go_tools::OCI_CONFORMANCE, go_tools::CSI_SANITY] {
                cargo.envs(tool.ensure().map(|program| (tool.variable, program)));
            }
            if env::var_os(TEST_THREADS).is_none() {
                let processors = thread::available_parallelism().map_or(1, usize::from);
                cargo.env(TEST_THREADS, (processors * 2).to_string());
            }
            for tool in [go_tools::CSI_DRIVER, go_tools::NETWORK_POLICY] {
                cargo.envs(tool.ensure(&workspace).map(|program| (tool.variable, program)));
            }
            return passed_through(cargo.args(["--workspace", "--no-fail-fast"]).args(args));
        }
        Task::Interop(args) => return interop(&workspace, &args),
        Task::Bench(args) => return bench(&workspace, &args),
        Task::Fuzz(options) => return fuzz::run(&workspace, &options),
        Task::Dist => dist(&workspace)?,
        Task::Image(options) => image::image(&workspace, &options)?,
        Task::Release(options) => release::release(&workspace, &options)?,
        Task::Deploy => {
            setup(&workspace)?;
            deploy::write(&workspace)?;
        }
        Task::Bindings => return bindings(&workspace),
        Task::SuiteData => suite_data::write(&workspace)?,
        Task::Browser(args) => return browser::run(&workspace, &args),
        Task::E2e(options) => return e2e::e2e(&workspace, &options),
        Task::Book => book::make(&workspace)?,
        Task::Check => check::check(&workspace)?,
        Task::Measure => measure::print(&workspace)?,
        Task::Deny => deny(&workspace)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds everything that tests and checks need: the standard library for modules, then the modules.
/// The program that packs them is a development build, like the tests. [`program::Release::setup`]
/// does the same with a release build.
pub(crate) fn setup(workspace: &Workspace) -> Result<TargetStd, Error> {
    let start = Instant::now();
    let std = target_std::ensure(Target::MODULE)?;
    let modules = modules::compile(workspace, &std)?;
    // Select the whole workspace, and a test, which adds the features of development dependencies.
    // Otherwise the WebAssembly engine would be compiled twice: for this program, and for the tests.
    let mut cargo = process::cargo_locked(workspace.root(), "build");
    let cargo = cargo.args(["--workspace", "--bin", modules::PACK, "--test", modules::PACK_TEST]);
    let packer = built::build(cargo)?.program(modules::PACK)?;
    modules.pack(&workspace.modules(), || Ok(Command::new(&packer)))?;
    print_status(format_args!("set-up took {}", steps::seconds(start.elapsed())));
    Ok(std)
}

/// Runs a command and returns its exit code.
fn passed_through(command: &mut Command) -> Result<ExitCode, Error> {
    Ok(ExitCode::from(process::exit_code(process::status(command)?)))
}

/// Runs the tests with programs of others whose build takes minutes. The other tests do not need
/// these programs.
fn interop(workspace: &Workspace, args: &[OsString]) -> Result<ExitCode, Error> {
    setup(workspace)?;
    let mut cargo = process::cargo_locked(workspace.root(), "test");
    cargo.envs(debian_tools::ensure());
    for tool in [go_tools::COSIGN, go_tools::OPA, go_tools::ORAS] {
        cargo.envs(tool.ensure().map(|program| (tool.variable, program)));
    }
    let wkg = tools::program(WKG, "wkg", "tests with it", || cargo_tool::WKG.ensure());
    cargo.envs(wkg.map(|program| (WKG, program)));
    cargo.envs(npm_tools::allure().map(|program| (npm_tools::ALLURE, program)));
    let collector = go_tools::OTELCOL;
    cargo.envs(collector.ensure(workspace).map(|program| (collector.variable, program)));
    passed_through(cargo.args(["-p", "plumbline", "--test", "it", "--", "interop::"]).args(args))
}

/// Runs benchmarks. They also measure the binary, and look for it in their own directory.
fn bench(workspace: &Workspace, args: &[OsString]) -> Result<ExitCode, Error> {
    let release = Release::new(workspace, Platform::of_this_machine()?)?;
    let std = release.setup()?;
    process::run_with_output(&mut release.cargo(&[program::DEV, program::PROGRAM]))?;
    let program = release.path(program::DEV);
    if args.iter().any(|arg| arg == "scale" || arg == "sonobuoy") {
        return e2e::bench(workspace, &program, args);
    }
    let mut bench = Command::new(program);
    // Only these parts build modules in other languages; the others need no downloads.
    if args.iter().any(|arg| arg == "languages" || arg == "check") {
        bench.envs(python_tools::ensure()).envs(npm_tools::ensure()).envs(std.variable());
    }
    passed_through(bench.arg("bench").args(args).current_dir(workspace.root()))
}

/// Writes the generated bindings. This needs no set-up, because it does not use modules.
fn bindings(workspace: &Workspace) -> Result<ExitCode, Error> {
    let mut cargo = process::cargo_locked(workspace.root(), "run");
    passed_through(cargo.args(["-p", "plumbline-bindings", "--", "write"]).arg(workspace.root()))
}

/// Builds the program. Prints its path on stdout, and its size on stderr.
fn dist(workspace: &Workspace) -> Result<(), Error> {
    let binary = program::build(workspace)?;
    let size = fs::metadata(&binary).map_err(Error::io("find the built binary", &binary))?.len();
    let mib = size as f64 / f64::from(1 << 20);
    print_status(format_args!("the program has {mib:.1} MiB"));
    println!("{}", binary.display());
    Ok(())
}

/// Checks only the dependency rules.
fn deny(workspace: &Workspace) -> Result<(), Error> {
    let deny = Deny::ensure()?;
    deny.rules(workspace)?;
    if let Outcome::Skipped(reason) = deny.advisories(workspace)? {
        print_status(format_args!("advisories skipped: {reason}"));
    }
    Ok(())
}
