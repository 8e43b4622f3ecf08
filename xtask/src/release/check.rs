//! `cargo xtask release --check`: inspects the files with the tools that read them, and installs
//! what can be installed in a directory. A missing tool skips its check.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::inputs::Inputs;
use super::{Artifacts, CHECKSUMS, VERSION, archive, chart, debian, pack};
use crate::error::Error;
use crate::program::Platform;
use crate::steps::{Outcome, Steps};
use crate::{debian_tools, go_tools, process, tools};

/// Runs all checks on the files in `output`.
pub(super) fn check(
    root: &Path,
    steps: &mut Steps,
    inputs: &Inputs,
    artifacts: &Artifacts,
    output: &Path,
) -> Result<(), Error> {
    // Next to the files, on the same file system.
    let scratch = output.with_extension("check");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(Error::io("remove", &scratch))?;
    }
    fs::create_dir_all(&scratch).map_err(Error::io("create", &scratch))?;
    let platforms: Vec<Platform> = inputs.programs.iter().map(|program| program.platform).collect();
    steps.step("same bytes", || same_bytes(inputs, artifacts))?;
    steps.step("checksums", || checksums(output))?;
    steps.step("image", || image_index(&image_file(output), &platforms))?;
    steps.step("Debian packages", || {
        let mut outcome = Outcome::Passed;
        for platform in &platforms {
            outcome = debian_package(output, *platform, &scratch.join("root"))?;
        }
        Ok(outcome)
    })?;
    steps.step("man pages", || man_pages(&inputs.docs.pages, &scratch.join("man")))?;
    steps.step("krew", || krew(output, &platforms, &scratch.join("krew")))?;
    steps.step("profiles", || profiles(inputs, output, &scratch.join("profiles")))?;
    steps.step("bundles of checks", || check_bundles(inputs, output, &scratch.join("checks")))?;
    steps.step("formula", || formula(output))?;
    steps.step("chart", || chart_archive(&output.join(chart::name())))?;
    steps.step("workflow", || workflow(root))?;
    fs::remove_dir_all(&scratch).map_err(Error::io("remove", &scratch))
}

fn image_file(output: &Path) -> PathBuf {
    output.join(format!("plumbline-v{VERSION}-image.tar"))
}

/// Runs a tool that may be missing.
fn tool(program: &str, work: impl FnOnce(Command) -> Result<(), Error>) -> Result<Outcome, Error> {
    match tools::in_path(program) {
        Some(path) => work(Command::new(path)).map(|()| Outcome::Passed),
        None => Ok(Outcome::Skipped(format!("`{program}` is not installed"))),
    }
}

/// Packs everything again, and compares.
pub(super) fn same_bytes(inputs: &Inputs, artifacts: &Artifacts) -> Result<Outcome, Error> {
    let again = pack(inputs)?;
    let differ: Vec<&String> =
        artifacts.iter().filter(|(name, bytes)| again.get(*name) != Some(*bytes)).map(|(name, _)| name).collect();
    if differ.is_empty() && again.len() == artifacts.len() {
        return Ok(Outcome::Passed);
    }
    Err(Error::unexpected(format!("packing the same input again gives other bytes: {differ:?}")))
}

/// Lets `sha256sum` compare the files with the list.
pub(super) fn checksums(output: &Path) -> Result<Outcome, Error> {
    tool("sha256sum", |mut command| {
        process::output(command.current_dir(output).args(["--check", "--strict", "--quiet", CHECKSUMS])).map(drop)
    })
}

/// Returns a function that creates commands of the program for this machine, which finds its data
/// below `home`. `None` if no such program was built.
fn native(inputs: &Inputs, home: &Path) -> Option<impl Fn() -> Command> {
    let program = inputs.programs.iter().find(|program| program.platform.is_native())?;
    Some(move || {
        let mut command = Command::new(&program.path);
        command.env("HOME", home).env_remove("XDG_DATA_HOME").env_remove("XDG_CACHE_HOME");
        command
    })
}

/// Why files are not checked that only the program for this machine can check.
const NOT_NATIVE: &str = "no program for this machine was built";

/// Installs the bundle of each example check into an empty directory, and inspects its component.
fn check_bundles(inputs: &Inputs, output: &Path, home: &Path) -> Result<Outcome, Error> {
    let Some(plumbline) = native(inputs, home) else { return Ok(Outcome::Skipped(NOT_NATIVE.to_owned())) };
    for check in inputs.checks.keys() {
        process::output(plumbline().args(["plugin", "install"]).arg(output.join(super::check_bundles::name(check))))?;
        let text = process::output(plumbline().args(["plugin", "inspect", check.as_str(), "-o", "json"]))?;
        let inspected: Value = serde_json::from_str(&text)
            .map_err(|error| Error::unexpected(format!("`plugin inspect` printed something else: {error}")))?;
        if inspected.pointer("/definition/component").is_none_or(|component| *component != format!("{check}.wasm")) {
            return Err(Error::unexpected(format!("the bundle of `{check}` runs no check: {inspected}")));
        }
    }
    Ok(Outcome::Passed)
}

/// Installs the bundle of each profile into an empty directory, and lists the profiles.
fn profiles(inputs: &Inputs, output: &Path, home: &Path) -> Result<Outcome, Error> {
    let Some(plumbline) = native(inputs, home) else { return Ok(Outcome::Skipped(NOT_NATIVE.to_owned())) };
    for profile in inputs.profiles.keys() {
        process::output(plumbline().args(["plugin", "install"]).arg(output.join(super::profiles::name(profile))))?;
    }
    let listed: Value =
        serde_json::from_str(&process::output(plumbline().args(["conformance", "list", "-o", "json"]))?)
            .map_err(|error| Error::unexpected(format!("`conformance list` printed something else: {error}")))?;
    let listed: Vec<&str> = listed
        .get("profiles")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|one| one.get("origin").and_then(Value::as_str) == Some("installed"))
        .filter_map(|one| one.get("name")?.as_str())
        .collect();
    match listed.iter().eq(inputs.profiles.keys()) {
        true => Ok(Outcome::Passed),
        false => Err(Error::unexpected(format!("the installed profiles are {listed:?}"))),
    }
}

/// Lets skopeo read the image of every platform.
pub(super) fn image_index(file: &Path, platforms: &[Platform]) -> Result<Outcome, Error> {
    let Some(skopeo) = debian_tools::skopeo() else {
        return Ok(Outcome::Skipped("skopeo not found".to_owned()));
    };
    let source = format!("oci-archive:{}", file.display());
    for platform in platforms {
        let mut command = Command::new(&skopeo);
        command.args(["--override-os", "linux", "--override-arch", platform.architecture, "inspect", &source]);
        let inspected: Value = serde_json::from_str(&process::output(&mut command)?)
            .map_err(|error| Error::unexpected(format!("skopeo printed invalid JSON: {error}")))?;
        let of = |key: &str| inspected.get(key).and_then(Value::as_str).unwrap_or_default();
        let version = inspected.pointer("/Labels/org.opencontainers.image.version").and_then(Value::as_str);
        if of("Architecture") != platform.architecture || version != Some(concat!("v", env!("CARGO_PKG_VERSION"))) {
            return Err(Error::unexpected(format!("skopeo reads another image for {platform}: {inspected}")));
        }
    }
    // A copy reads and verifies every blob.
    let copy = file.with_extension("copy");
    let mut command = Command::new(&skopeo);
    command.args(["--insecure-policy", "copy", "--quiet", "--all", &source]).arg(format!("dir:{}", copy.display()));
    process::output(&mut command)?;
    fs::remove_dir_all(&copy).map_err(Error::io("remove", &copy))?;
    Ok(Outcome::Passed)
}

/// Installs the package into an empty system with `dpkg`, starts the program, and removes the package.
pub(super) fn debian_package(output: &Path, platform: Platform, root: &Path) -> Result<Outcome, Error> {
    let package = output.join(debian::name(platform));
    tool("dpkg", |_| {
        fresh(&root.join("var/lib/dpkg/info"))?;
        for file in ["status", "available"] {
            let file = root.join("var/lib/dpkg").join(file);
            fs::write(&file, "").map_err(Error::io("write", &file))?;
        }
        fresh(&root.join("var/lib/dpkg/updates"))?;
        let dpkg = |args: &[&str], what: &Path| {
            let mut command = Command::new("dpkg");
            command.arg(format!("--root={}", root.display()));
            command.args(["--force-not-root", "--force-architecture", "--force-bad-path"]);
            process::output(command.arg(format!("--log={}", root.join("log").display())).args(args).arg(what))
        };
        dpkg(&["--install"], &package)?;
        let program = root.join("usr/bin/plumbline");
        starts(platform, &program)?;
        let man = root.join("usr/share/man/man1/plumbline.1.gz");
        if !man.is_file() {
            return Err(Error::unexpected(format!("the package has no `{}`", man.display())));
        }
        dpkg(&["--purge"], Path::new("plumbline"))?;
        if root.join("usr").exists() {
            return Err(Error::unexpected("removing the package leaves files in `/usr`"));
        }
        fs::remove_dir_all(root).map_err(Error::io("remove", root))
    })
}

/// Checks that a program prints the version of the release.
fn starts(platform: Platform, program: &Path) -> Result<(), Error> {
    let printed = process::output(platform.command(program)?.args(["version", "--short"]))?;
    if printed.trim() == format!("v{VERSION}") {
        Ok(())
    } else {
        Err(Error::unexpected(format!("`{} version --short` prints `{}`", program.display(), printed.trim())))
    }
}

fn fresh(dir: &Path) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(Error::io("create", dir))
}

/// Renders the pages. Every warning is an error.
fn man_pages(pages: &Artifacts, scratch: &Path) -> Result<Outcome, Error> {
    tool("man", |_| {
        fresh(scratch)?;
        for (name, bytes) in pages {
            let page = scratch.join(name);
            fs::write(&page, bytes).map_err(Error::io("write", &page))?;
            let mut man = Command::new("man");
            man.env("LC_ALL", "C.UTF-8").env("MANROFFSEQ", "").env("MANWIDTH", "100");
            let output = man.args(["--warnings", "--local-file", "--encoding=UTF-8"]).arg(&page).output();
            let output = output.map_err(|source| process::not_started(&man, source))?;
            if !output.status.success() || !output.stderr.is_empty() || output.stdout.is_empty() {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(Error::unexpected(format!("`man` cannot render `{name}` without warnings:\n{said}")));
            }
        }
        Ok(())
    })
}

/// Validates the manifest with krew's own program, and installs the plugin from the archive.
pub(super) fn krew(output: &Path, platforms: &[Platform], root: &Path) -> Result<Outcome, Error> {
    let Some(krew) = go_tools::KREW.ensure() else {
        return Ok(Outcome::Skipped("krew cannot be built here".to_owned()));
    };
    let Some(native) = platforms.iter().find(|platform| platform.is_native()) else {
        return Ok(Outcome::Skipped("found no archive for this machine".to_owned()));
    };
    let mut install = Command::new(krew);
    install.env("KREW_ROOT", root).env("KREW_NO_UPGRADE_CHECK", "1");
    install.arg("install").arg(format!("--manifest={}", output.join("plumbline.yaml").display()));
    process::output(install.arg(format!("--archive={}", output.join(archive::name(*native)).display())))?;
    starts(*native, &root.join("bin/kubectl-plumbline"))?;
    Ok(Outcome::Passed)
}

/// Lets Ruby parse the formula, and run its declarations.
pub(super) fn formula(output: &Path) -> Result<Outcome, Error> {
    /// The words that the formula uses, as far as they matter for its declarations.
    const DSL: &str = "\
class Formula
  def self.method_missing(name, *arguments, &block)
    $said << name
    block.call if block && name.to_s.start_with?('on_')
  end
  def self.test(&block) = ($said << :test)
end
$said = []
load ARGV[0]
wanted = %i[desc homepage version license depends_on url sha256 test]
missing = wanted - $said
abort \"the formula does not declare #{missing}\" unless missing.empty?
abort 'the formula has no install' unless Plumbline.method_defined?(:install)
";
    tool("ruby", |mut ruby| process::output(ruby.args(["-w", "-e", DSL]).arg(output.join("plumbline.rb"))).map(drop))
}

/// Lets Helm check and render the chart.
fn chart_archive(file: &Path) -> Result<Outcome, Error> {
    let Some(helm) = go_tools::HELM.ensure() else {
        return Ok(Outcome::Skipped("Helm cannot be built here".to_owned()));
    };
    for args in [&["lint", "--strict"][..], &["template", "plumbline"]] {
        process::output(Command::new(&helm).args(args).arg(file))?;
    }
    Ok(Outcome::Passed)
}

/// Checks the workflow that publishes the files, for the syntax and the types of its expressions.
fn workflow(root: &Path) -> Result<Outcome, Error> {
    let Some(actionlint) = go_tools::ACTIONLINT.ensure() else {
        return Ok(Outcome::Skipped("actionlint cannot be built here".to_owned()));
    };
    // Without its optional helpers, which differ from machine to machine.
    let mut command = Command::new(actionlint);
    command.current_dir(root).args(["-shellcheck=", "-pyflakes=", ".github/workflows/release.yml"]);
    process::output(&mut command)?;
    Ok(Outcome::Passed)
}
