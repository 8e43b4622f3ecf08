//! `cargo xtask release`: writes everything that is published (docs/releasing.md).
//!
//! The files are a pure function of their [`Inputs`]: the same programs and sources give the same
//! bytes. Nothing is uploaded here.

mod archive;
mod chart;
mod check;
mod check_bundles;
mod debian;
mod docs;
mod inputs;
mod managers;
mod options;
mod profiles;
mod provenance;
mod rebuild;
mod sbom;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use self::inputs::{Inputs, Program};
pub(crate) use self::options::Options;
use crate::error::Error;
use crate::image;
use crate::paths::Workspace;
use crate::program::{Platform, Release};
use crate::report;
use crate::steps::{Outcome, Steps};

/// The version of the workspace, which is that of the release.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The URL of the repository, which has the published files.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
/// The name of the image, without its tag.
const IMAGE: &str = "ghcr.io/plumbline-dev/plumbline";
/// The file with the checksums of all other files except the provenance.
const CHECKSUMS: &str = "SHA256SUMS";

/// Files by name.
type Artifacts = BTreeMap<String, Vec<u8>>;

/// Builds the programs and writes the files. With `--check`, it also inspects and installs them.
/// With `--twice`, it builds the program of this machine again, and compares.
pub(crate) fn release(workspace: &Workspace, options: &Options) -> Result<(), Error> {
    let output = options.output.clone().unwrap_or_else(|| workspace.target().join("release-artifacts"));
    let mut steps = Steps::default();
    let mut programs = Vec::new();
    for platform in Platform::ALL {
        steps.step(platform.triple, || match program(workspace, platform, options)? {
            Ok(program) => {
                programs.push(program);
                Ok(Outcome::Passed)
            }
            Err(reason) => Ok(Outcome::Skipped(reason)),
        })?;
    }
    if options.twice {
        steps.step("same program", || rebuild::same_program(workspace, &programs))?;
    }
    let mut inputs = None;
    steps.step("documents, bundles and SBOM", || {
        inputs = Some(Inputs::collect(workspace, programs)?);
        Ok(Outcome::Passed)
    })?;
    let Some(inputs) = inputs else { return Ok(()) };
    let mut artifacts = Artifacts::new();
    steps.step("packages", || {
        artifacts = pack(&inputs)?;
        write(&output, &artifacts)?;
        Ok(Outcome::Passed)
    })?;
    if options.check {
        check::check(workspace.root(), &mut steps, &inputs, &artifacts, &output)?;
    }
    report::line(format_args!("\n{}", steps.table()));
    println!("{}", output.display());
    Ok(())
}

/// Returns the program for a platform, or the reason why there is none.
fn program(workspace: &Workspace, platform: Platform, options: &Options) -> Result<Result<Program, String>, Error> {
    if !options.binaries.is_empty() {
        return match options.binaries.get(platform.architecture) {
            Some(path) => Program::read(platform, path.clone()).map(Ok),
            None => Ok(Err(format!("`--binary` names no program for {platform}"))),
        };
    }
    let release = match Release::new(workspace, platform) {
        Ok(release) => release,
        // Only this machine's own program is required.
        Err(error @ (Error::Missing { .. } | Error::NoTargetStd { .. })) if !platform.is_native() => {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            return Ok(Err(format!("{error}{hint}")));
        }
        Err(error) => return Err(error),
    };
    Program::read(platform, release.build(&[])?).map(Ok)
}

/// Makes all files.
fn pack(inputs: &Inputs) -> Result<Artifacts, Error> {
    let mut artifacts = Artifacts::new();
    for program in &inputs.programs {
        artifacts.insert(archive::name(program.platform), archive::pack(inputs, program)?);
        artifacts.insert(debian::name(program.platform), debian::pack(inputs, program)?);
    }
    let images = inputs.programs.iter().map(|program| (program.platform, image::layers(program.bytes.clone())));
    let reference = image::Reference::parse(&format!("{IMAGE}:v{VERSION}"))?;
    artifacts.insert(format!("plumbline-v{VERSION}-image.tar"), image::packed(images, &reference)?);
    artifacts.insert(chart::name(), chart::pack(&inputs.chart)?);
    artifacts.extend(inputs.profiles.iter().map(|(profile, bundle)| (profiles::name(profile), bundle.clone())));
    artifacts.extend(inputs.checks.iter().map(|(check, bundle)| (check_bundles::name(check), bundle.clone())));
    artifacts.insert(format!("plumbline-v{VERSION}.cdx.json"), inputs.sbom.clone());
    let archives: Vec<_> = inputs.programs.iter().map(|program| program.platform).collect();
    let archives: Vec<_> = archives
        .iter()
        .filter_map(|platform| Some((*platform, sha256(artifacts.get(&archive::name(*platform))?))))
        .collect();
    artifacts.insert("plumbline.yaml".to_owned(), managers::krew(&archives).into_bytes());
    artifacts.insert("plumbline.rb".to_owned(), managers::homebrew(&archives).into_bytes());
    let checksums = artifacts.iter().fold(String::new(), |mut text, (name, bytes)| {
        let _ = writeln!(text, "{}  {name}", sha256(bytes));
        text
    });
    let provenance = provenance::statement(&inputs.source, &artifacts);
    artifacts.insert(CHECKSUMS.to_owned(), checksums.into_bytes());
    artifacts.insert(format!("plumbline-v{VERSION}.intoto.json"), provenance);
    Ok(artifacts)
}

/// Replaces the content of the directory.
fn write(output: &Path, artifacts: &Artifacts) -> Result<(), Error> {
    if output.exists() {
        fs::remove_dir_all(output).map_err(Error::io("remove", output))?;
    }
    for (name, bytes) in artifacts {
        image::write(&output.join(name), bytes)?;
    }
    Ok(())
}

/// Returns the SHA-256 digest in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
