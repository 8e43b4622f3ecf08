//! Writes findings to disk in the layout of cases, so that they can be run again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::error::FuzzError;
use super::input::Input;
use crate::golden::{DEFINITION, FINDINGS_DIR, OPTIONS, Project, TESTS_DIR};

/// Number of digest bytes in the name of a finding.
const NAME_BYTES: usize = 8;
/// The file that describes a finding.
const STORY: &str = "finding.json";

/// Writes `input` to `tests/.fuzz/DIGEST/` and returns that directory. The same input always gets
/// the same directory.
pub(super) fn keep(
    project: &Project,
    input: &Input<'_>,
    failure: &str,
    seed: u64,
    n: u64,
) -> Result<PathBuf, FuzzError> {
    let findings = project.dir.join(TESTS_DIR).join(FINDINGS_DIR);
    let mut digest = Sha256::new();
    for (path, bytes) in input.files() {
        digest.update(path.as_bytes());
        digest.update([0]);
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
    }
    let name: String = digest.finalize().iter().take(NAME_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let place = findings.join(name);
    let failed = |source| FuzzError::Keep { path: place.clone(), source };
    if place.is_dir() {
        return Ok(place);
    }
    fs::create_dir_all(&findings).map_err(failed)?;
    // Write atomically: an incomplete finding would run as a case.
    let half = tempfile::Builder::new().prefix(".half-").tempdir_in(&findings).map_err(failed)?;
    fill(half.path(), input, failure, seed, n).map_err(failed)?;
    let made = half.keep();
    fs::rename(&made, &place).map_err(failed)?;
    Ok(place)
}

fn fill(dir: &Path, input: &Input<'_>, failure: &str, seed: u64, n: u64) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
    for (path, bytes) in input.files() {
        // The path comes from walking the directory of a case, so it is relative and has no `..`.
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap_or(dir))?;
        fs::write(path, bytes)?;
    }
    for name in [DEFINITION, OPTIONS] {
        let own = input.seed.case.dir.join(name);
        if own.is_file() {
            fs::copy(own, dir.join(name))?;
        }
    }
    let file = input.seed.files.get(input.file).map(|file| file.path.as_str());
    let story = json!({
        "case": input.seed.case.name, "file": file, "damage": input.damaged.how, "failure": failure, "seed": seed, "input": n,
    });
    fs::write(dir.join(STORY), format!("{story:#}\n"))
}
