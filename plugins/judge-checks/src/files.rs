//! The evidence, sorted by what it is for.

use plumbline_sdk::InputFile;

/// Where the files of `data` are.
pub(crate) const DATA: &str = "data/";

/// Where the health of the cluster is.
pub(crate) const HEALTH: &str = "meta/clusterhealth.json";

/// What the judge was given.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) data: Vec<InputFile>,
    pub(crate) health: Option<InputFile>,
    pub(crate) others: Vec<InputFile>,
}

impl Files {
    pub(crate) fn sort(evidence: Vec<InputFile>) -> Self {
        let mut files = Self::default();
        for file in evidence {
            match file.path() {
                HEALTH => files.health = Some(file),
                path if path.starts_with(DATA) => files.data.push(file),
                _ => files.others.push(file),
            }
        }
        files
    }
}
