//! The result sets of the golden cases in memory, to be damaged.

use std::path::PathBuf;
use std::sync::Arc;

use plumbline_aggregator::{PlannedPlugin, module_inputs};

use super::error::FuzzError;
use crate::golden::{Case, CaseKind, Project, Runner, planned};

/// Maximum number of bytes of a file. What breaks a parser breaks it in the first megabyte, and a
/// thousand inputs must not take hours.
const MAX_FILE: u64 = 1 << 20;
/// Maximum number of bytes of all files together.
const MAX_ALL: usize = 64 << 20;

/// One result set of a case, for one call.
pub(super) struct Seed {
    pub(super) case: Case,
    pub(super) plugin: Arc<PlannedPlugin>,
    pub(super) files: Vec<SeedFile>,
}

/// An undamaged file.
pub(super) struct SeedFile {
    /// The path that the module sees.
    pub(super) path: String,
    pub(super) bytes: Arc<[u8]>,
}

/// Returns the result sets of `cases` whose files are readable.
pub(super) fn seeds(project: &Project, cases: &[Case], runner: &Runner<'_>) -> Result<Vec<Seed>, FuzzError> {
    let mut seeds = Vec::new();
    let mut all = 0;
    for case in cases.iter().filter(|case| case.kind == CaseKind::Results) {
        let failed = |reason: String| FuzzError::Case { case: case.name.clone(), reason };
        let plugin = Arc::new(planned(project, case, runner).map_err(failed)?);
        let module = &plugin.post_processor;
        let inputs =
            module_inputs(&plugin.subject(), &case.dir, module.info()).map_err(|error| failed(error.to_string()))?;
        for input in inputs {
            let mut files = Vec::new();
            for (path, absolute) in input.files {
                let bytes = read(absolute, MAX_FILE).map_err(failed)?;
                all += bytes.len();
                files.push(SeedFile { path, bytes: bytes.into() });
            }
            if all > MAX_ALL {
                tracing::warn!(case = case.name, "more than {} MiB of files: the rest is not damaged", MAX_ALL >> 20);
                return Ok(seeds);
            }
            seeds.push(Seed { case: case.clone(), plugin: Arc::clone(&plugin), files });
        }
    }
    if seeds.is_empty() { Err(FuzzError::NothingToDamage) } else { Ok(seeds) }
}

fn read(path: PathBuf, limit: u64) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(&path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| format!("failed to read `{}`: {error}", path.display()))?;
    Ok(bytes)
}
