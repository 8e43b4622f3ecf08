//! Sorts the evidence by its purpose.

use plumbline_sdk::InputFile;
use serde::de::DeserializeOwned;

/// The directory of the files of `data`.
pub(crate) const DATA: &str = "data/";

/// The file with the health of the cluster.
pub(crate) const HEALTH: &str = "meta/clusterhealth.json";

/// The file with the queries of the survey. The host adds it to evidence of the survey.
pub(crate) const QUERIES: &str = "meta/query-time.json";

/// Maximum size in bytes of a document of the survey: 100,000 pods or logs with a message each.
const MAX_BYTES: u64 = 64 << 20;

/// The evidence.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) data: Vec<InputFile>,
    pub(crate) health: Option<InputFile>,
    pub(crate) queries: Option<InputFile>,
    pub(crate) others: Vec<InputFile>,
}

impl Files {
    pub(crate) fn sort(evidence: Vec<InputFile>) -> Self {
        let mut files = Self::default();
        for file in evidence {
            match file.path() {
                HEALTH => files.health = Some(file),
                QUERIES => files.queries = Some(file),
                path if path.starts_with(DATA) => files.data.push(file),
                _ => files.others.push(file),
            }
        }
        files
    }
}

/// Reads a document of the survey. The error is a sentence with its path.
pub(crate) fn read_json<T: DeserializeOwned>(file: &mut InputFile) -> Result<T, String> {
    let path = file.path().to_owned();
    let bytes = file.read_within(MAX_BYTES).map_err(|error| format!("failed to read `{path}`: {error}"))?;
    let bytes = bytes.ok_or_else(|| format!("`{path}` is larger than {} MiB", MAX_BYTES >> 20))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("`{path}` has an unexpected form: {error}"))
}
