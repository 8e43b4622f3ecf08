//! Sorts the evidence by its purpose.

use plumbline_sdk::InputFile;

/// The directory of the files of `data`.
pub(crate) const DATA: &str = "data/";

/// The file with the health of the cluster.
pub(crate) const HEALTH: &str = "meta/clusterhealth.json";

/// The file with the queries of the survey. The host adds it to evidence of the survey.
pub(crate) const QUERIES: &str = "meta/query-time.json";

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
