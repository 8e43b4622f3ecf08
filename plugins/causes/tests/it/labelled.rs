//! Failures with their true causes, labelled by hand. `source` is the file of this repository that
//! a failure comes from, or `written` for failures in the form of a tool. The archive and the files
//! below `golden-junit` and `postprocess` are public test data of vmware-tanzu/sonobuoy,
//! Apache-2.0.

use std::collections::BTreeMap;

use plumbline_sdk::{Item, Status};
use serde::Deserialize;

const DATA: &str = include_str!("../data/labelled.json");

/// A failure and its true cause.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Labelled {
    pub(crate) cause: String,
    #[serde(rename = "source")]
    _source: String,
    name: String,
    #[serde(default)]
    class: String,
    details: BTreeMap<String, String>,
}

impl Labelled {
    pub(crate) fn all() -> Vec<Self> {
        serde_json::from_str(DATA).unwrap()
    }

    pub(crate) fn item(&self) -> Item {
        let item = Item::new(1, &*self.name).status(Status::Failed).meta("classname", &*self.class);
        self.details.iter().fold(item, |item, (key, text)| item.text(key, text))
    }
}
