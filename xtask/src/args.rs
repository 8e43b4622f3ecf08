//! The command line.

use std::ffi::{OsStr, OsString};

use crate::e2e;
use crate::error::Error;
use crate::fuzz;
use crate::image;
use crate::release;

/// The output of `cargo xtask help`.
pub(crate) const HELP: &str = "\
cargo xtask COMMAND [ARGS…]

Set-up (each command says what it downloads or builds before it does so):
  setup           install what is missing: the wasm32-unknown-unknown standard library, then the built-in modules
  modules         build the modules and pack them as components into target/modules

Work:
  run [ARGS…]     set up, then run the main job on this machine: host-facts and node-check.
                  ARGS go to `plumbline run`, whose exit code this command returns
  test [ARGS…]    set up, then run all tests; ARGS go to `cargo test`
  interop [ARGS…] set up, then run the tests with Allure, cosign, oras, wkg, the Open Policy Agent and the OpenTelemetry
                  Collector, which it installs with npm, or builds with Go and cargo (some minutes each), if they are
                  missing; ARGS go to the test binary
  bench [ARGS…]   set up, then run the benchmarks, optimised; ARGS go to them
  fuzz [TARGET] [--seconds N | --hours N] [-- ARGS…]
                  feed a fuzz target its seeds, then generated input: one target until you interrupt it, every target for
                  a minute, or either for N seconds or hours; ARGS go to the target (libFuzzer)
  dist            set up, then build the program (one static binary, optimised) and print its path
  image [--output FILE] [--tag NAME] [--binary FILE] [--dev]
                  write an image archive with that program, which containerd, Podman and Docker load. --dev adds
                  plumbline-dev, for the end-to-end tests
  release [--check] [--twice] [--output DIR] [--binary ARCHITECTURE=FILE]…
                  write everything that is published into target/release-artifacts: archives, Debian packages, the
                  image, the chart, manifests of package managers, checksums, SBOM, provenance. The other architecture
                  is cross-compiled, or skipped if the tools are missing. --binary packs an existing static program,
                  and --check installs and inspects what was written. --twice builds the program of this machine a
                  second time, and compares (docs/releasing.md)
  deploy          set up, then regenerate the files below deploy/ with `plumbline gen`
  bindings        regenerate what derives from the contract and the templates: the SDKs' bindings, docs/wit.md, the
                  excerpts in the authors' guides
  book            make the documentation a book in target/book, with mdBook, which is built if it is missing
  suite-data      regenerate the names of the suite's tests for the newest release of every minor version of Kubernetes
                  from 1.29 on; needs Go and builds the suite of each version it does not know, 4 minutes each
  browser [--measure | --screenshots DIR [ARCHIVE]]
                  set up, then open the HTML report in Chromium and use everything on it, with Playwright and axe.
                  Without Chromium, it says why it skips that. --measure opens large pages and prints how long they
                  take; --screenshots writes pictures of the page of an archive, by default a generated one
  e2e [--nodes 1|3] [--kubernetes VERSION|all] [--keep] [--tests-binary] [--interop] [--long] [-- ARGS…]
                  run the end-to-end tests against a real cluster: the one of PLUMBLINE_E2E_KUBECONFIG, or one that this
                  command starts and, without --keep, stops. Where neither is possible, it says why it skips them.
                  --kubernetes chooses the version; `all` runs each that host/e2e/cluster/versions lists.
                  --tests-binary puts the program the tests were built with into the image (it must be static), not a
                  release build. --interop also runs the test with Hydrophone, which it builds with Go if it is missing
                  (some minutes). --long also runs the tests that take minutes. ARGS go to the test binary (docs/e2e.md)

Checks:
  check           everything but the tests: format, lints, documentation, the dependency rules and, where CI is set,
                  that no check changed a file of the checkout
  deny            the dependency rules of deny.toml (licences, bans, sources, advisories), with cargo-deny
  measure         print how large the code below host/ is: lines, files, functions, circles, repeated passages
  help            print this text

Environment:
  PLUMBLINE_WASM_STD=1|2|3|4
                  allow only one way to get the wasm32 standard library:
                    1  the toolchain has it
                    2  `rustup target add` (not when RUSTUP_AUTO_INSTALL is 0)
                    3  build it from Debian's source package of the same Rust version
                    4  use Debian's packaged Rust (rustc-web) with a standard library built from its own source
  PLUMBLINE_HELM, PLUMBLINE_MOTO_SERVER, PLUMBLINE_MCP_PYTHON, PLUMBLINE_PYTEST, PLUMBLINE_BATS, PLUMBLINE_CTRF,
  PLUMBLINE_OCI_CONFORMANCE, PLUMBLINE_CSI_SANITY, PLUMBLINE_CSI_DRIVER, PLUMBLINE_NETWORK_POLICY
                  for test: these programs instead of those that it installs into the cache (with go, python3 and npm)
  PLUMBLINE_CHROMIUM
                  for browser: this program instead of the one in PATH, or that it unpacks into the cache
  PLUMBLINE_DOCKER_REGISTRY, PLUMBLINE_SKOPEO
                  for test: these programs instead of those that it unpacks into the cache (Debian's packages)
  PLUMBLINE_ALLURE, PLUMBLINE_COSIGN, PLUMBLINE_OPA, PLUMBLINE_ORAS, PLUMBLINE_OTELCOL, PLUMBLINE_WKG
                  for interop: these programs instead of those that it installs; also for test, which does not build them
  PLUMBLINE_E2E_KUBECONFIG, PLUMBLINE_E2E_IMAGE, PLUMBLINE_E2E_BINARY, PLUMBLINE_TESTCLUSTER
                  for e2e: the cluster, the image it can pull, the program, the scripts of a test cluster (docs/e2e.md)
  XDG_CACHE_HOME  $XDG_CACHE_HOME/plumbline keeps what all checkouts share (default: ~/.cache/plumbline)
";

/// A command of `cargo xtask`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Help,
    Setup,
    Modules,
    Run(Vec<OsString>),
    Test(Vec<OsString>),
    /// Runs the tests with programs of others that take minutes to build.
    Interop(Vec<OsString>),
    Bench(Vec<OsString>),
    Fuzz(fuzz::Options),
    Dist,
    Image(image::Options),
    Release(release::Options),
    Deploy,
    Bindings,
    SuiteData,
    /// Tests the HTML report in a browser.
    Browser(Vec<OsString>),
    E2e(e2e::Options),
    Book,
    Check,
    Deny,
    /// Prints the size of the code.
    Measure,
}

impl Task {
    /// Parses the arguments after the program's name. Without a command, the result is
    /// [`Task::Help`].
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let mut args = args.into_iter();
        let Some(name) = args.next() else { return Ok(Self::Help) };
        let rest: Vec<OsString> = args.collect();
        let task = match name.to_str() {
            Some("run") => return Ok(Self::Run(without_separator(rest))),
            Some("test") => return Ok(Self::Test(rest)),
            Some("interop") => return Ok(Self::Interop(without_separator(rest))),
            Some("bench") => return Ok(Self::Bench(without_separator(rest))),
            Some("browser") => return Ok(Self::Browser(rest)),
            Some("fuzz") => return fuzz_options(rest).map(Self::Fuzz),
            Some("image") => return image::Options::parse(rest).map(Self::Image),
            Some("release") => return release::Options::parse(rest).map(Self::Release),
            Some("e2e") => return e2e::Options::parse(rest).map(Self::E2e),
            Some("help" | "--help" | "-h") => Self::Help,
            Some("setup") => Self::Setup,
            Some("modules") => Self::Modules,
            Some("dist") => Self::Dist,
            Some("deploy") => Self::Deploy,
            Some("bindings") => Self::Bindings,
            Some("suite-data") => Self::SuiteData,
            Some("book") => Self::Book,
            Some("check") => Self::Check,
            Some("deny") => Self::Deny,
            Some("measure") => Self::Measure,
            _ => return Err(Error::Usage(format!("unknown command `{}`", name.display()))),
        };
        match rest.first() {
            Some(extra) => Err(too_many(&name, extra)),
            None => Ok(task),
        }
    }
}

fn too_many(name: &OsStr, extra: &OsStr) -> Error {
    Error::Usage(format!("`{}` does not take the argument `{}`", name.display(), extra.display()))
}

/// Parses `[TARGET] [--seconds N | --hours N] [-- ARGS…]`.
fn fuzz_options(args: Vec<OsString>) -> Result<fuzz::Options, Error> {
    let mut args = args.into_iter();
    let mut options = fuzz::Options::default();
    while let Some(arg) = args.next() {
        let unit = match arg.to_str() {
            Some("--") => {
                options.args = args.collect();
                break;
            }
            Some("--seconds") => 1,
            Some("--hours") => 3600,
            _ if options.target.is_none() && !arg.as_encoded_bytes().starts_with(b"-") => {
                options.target = Some(arg);
                continue;
            }
            _ => return Err(too_many(OsStr::new("fuzz"), &arg)),
        };
        let number: Option<u64> = args.next().and_then(|number| number.to_str()?.parse().ok());
        let seconds = number.and_then(|number| number.checked_mul(unit)).filter(|seconds| *seconds > 0);
        let wrong = || Error::Usage(format!("`{}` takes a number, 1 or more", arg.display()));
        options.seconds = Some(seconds.ok_or_else(wrong)?);
    }
    Ok(options)
}

/// Removes a leading `--`: `run -- ARGS` means the same as `run ARGS`. (For `test` the separator
/// has a meaning of its own.)
fn without_separator(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.first().is_some_and(|first| first == OsStr::new("--")) {
        args.remove(0);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Task, Error> {
        Task::parse(line.split_whitespace().map(OsString::from))
    }

    fn strings(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn every_command_of_the_help_is_known() {
        let commands: Vec<&str> = HELP
            .lines()
            .take_while(|line| !line.starts_with("Environment"))
            .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert!(commands.contains(&"setup") && commands.contains(&"help"), "{commands:?}");
        for command in commands {
            assert!(parse(command).is_ok(), "{command}");
        }
    }

    #[test]
    fn nothing_at_all_is_help() {
        assert_eq!(parse("").unwrap(), Task::Help);
    }

    #[test]
    fn arguments_are_passed_on_as_they_are() {
        assert_eq!(parse("run -o json").unwrap(), Task::Run(strings(&["-o", "json"])));
        assert_eq!(parse("run -- -o json").unwrap(), Task::Run(strings(&["-o", "json"])));
        assert_eq!(parse("test -- --nocapture").unwrap(), Task::Test(strings(&["--", "--nocapture"])));
    }

    #[test]
    fn a_fuzz_target_and_its_time_stand_before_the_separator() {
        let fuzz = |target: Option<&str>, seconds, args: &[&str]| {
            Task::Fuzz(fuzz::Options { target: target.map(OsString::from), seconds, args: strings(args) })
        };
        assert_eq!(parse("fuzz").unwrap(), fuzz(None, None, &[]));
        assert_eq!(parse("fuzz junit").unwrap(), fuzz(Some("junit"), None, &[]));
        assert_eq!(parse("fuzz -- -runs=1").unwrap(), fuzz(None, None, &["-runs=1"]));
        assert_eq!(parse("fuzz junit -- -runs=1 -- x").unwrap(), fuzz(Some("junit"), None, &["-runs=1", "--", "x"]));
        assert_eq!(parse("fuzz --hours 2 -- -jobs=2").unwrap(), fuzz(None, Some(7200), &["-jobs=2"]));
        assert_eq!(parse("fuzz junit --seconds 30").unwrap(), fuzz(Some("junit"), Some(30), &[]));
        for wrong in ["fuzz --hours soon", "fuzz --hours 0", "fuzz --hours"] {
            assert!(parse(wrong).unwrap_err().to_string().contains("`--hours`"), "{wrong}");
        }
        assert!(parse("fuzz junit -runs=1").unwrap_err().to_string().contains("`-runs=1`"));
    }

    #[test]
    fn unknown_arguments_are_rejected_by_name() {
        assert!(parse("genrate").unwrap_err().to_string().contains("`genrate`"));
        let extra = parse("setup now").unwrap_err().to_string();
        assert!(extra.contains("`setup`") && extra.contains("`now`"), "{extra}");
    }
}
