//! The file as it is written: keys and types, with the lines of values.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

/// A text with its place in the file.
pub(super) type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProfile {
    pub(super) name: Text,
    pub(super) title: Text,
    pub(super) description: Option<Text>,
    /// A text, or a mapping that says where the version is.
    pub(super) version: Spanned<Value>,
    pub(super) local: Option<RawLocal>,
    #[serde(default)]
    pub(super) options: Vec<RawOption>,
    #[serde(default)]
    pub(super) modes: Vec<RawMode>,
    pub(super) tests: Option<Text>,
    pub(super) listing: Option<RawListing>,
    pub(super) selection: Option<RawSelection>,
    pub(super) images: Option<Text>,
    #[serde(default)]
    pub(super) submission: Vec<RawSubmitted>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLocal {
    pub(super) command: Option<Spanned<Vec<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawListing {
    pub(super) program: Text,
    pub(super) tests: Option<Spanned<Vec<String>>>,
    pub(super) required: Option<Spanned<Vec<String>>>,
    pub(super) images: Option<Spanned<Vec<String>>>,
    pub(super) format: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOption {
    pub(super) name: Text,
    pub(super) help: Text,
    #[serde(rename = "type")]
    pub(super) kind: Text,
    pub(super) values: Option<Spanned<Vec<String>>>,
    /// A scalar.
    pub(super) default: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) required: bool,
    #[serde(default)]
    pub(super) secret: bool,
    pub(super) env: Option<Text>,
    pub(super) arg: Option<Text>,
    pub(super) file: Option<Text>,
    #[serde(default)]
    pub(super) image: bool,
    pub(super) option: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMode {
    pub(super) name: Text,
    pub(super) description: Text,
    #[serde(default)]
    pub(super) default: bool,
    /// Scalars by the names of options.
    #[serde(default)]
    pub(super) set: BTreeMap<String, Value>,
    pub(super) required: Option<Text>,
    #[serde(default)]
    pub(super) submit: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSelection {
    pub(super) focus: Text,
    pub(super) skip: Option<Text>,
    #[serde(default)]
    pub(super) clear: Vec<Text>,
    pub(super) strip: Option<Text>,
    pub(super) prefix: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSubmitted {
    pub(super) name: Text,
    pub(super) from: Option<Text>,
    pub(super) option: Option<Text>,
}
