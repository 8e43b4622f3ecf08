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
    #[serde(default)]
    pub(super) description: Option<Text>,
    /// A text, or a mapping that says where the version is.
    pub(super) version: Spanned<Value>,
    #[serde(default)]
    pub(super) local: Option<RawLocal>,
    #[serde(default)]
    pub(super) options: Vec<RawOption>,
    #[serde(default)]
    pub(super) modes: Vec<RawMode>,
    #[serde(default)]
    pub(super) tests: Option<Text>,
    #[serde(default)]
    pub(super) selection: Option<RawSelection>,
    #[serde(default)]
    pub(super) images: Option<Text>,
    #[serde(default)]
    pub(super) submission: Vec<RawSubmitted>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLocal {
    #[serde(default)]
    pub(super) command: Option<Spanned<Vec<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOption {
    pub(super) name: Text,
    pub(super) help: Text,
    #[serde(rename = "type")]
    pub(super) kind: Text,
    #[serde(default)]
    pub(super) values: Option<Spanned<Vec<String>>>,
    /// A scalar.
    #[serde(default)]
    pub(super) default: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) required: bool,
    #[serde(default)]
    pub(super) secret: bool,
    #[serde(default)]
    pub(super) env: Option<Text>,
    #[serde(default)]
    pub(super) arg: Option<Text>,
    #[serde(default)]
    pub(super) file: Option<Text>,
    #[serde(default)]
    pub(super) image: bool,
    #[serde(default)]
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
    #[serde(default)]
    pub(super) required: Option<Text>,
    #[serde(default)]
    pub(super) submit: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSelection {
    pub(super) focus: Text,
    #[serde(default)]
    pub(super) skip: Option<Text>,
    #[serde(default)]
    pub(super) clear: Vec<Text>,
    #[serde(default)]
    pub(super) strip: Option<Text>,
    #[serde(default)]
    pub(super) prefix: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSubmitted {
    pub(super) name: Text,
    #[serde(default)]
    pub(super) from: Option<Text>,
    #[serde(default)]
    pub(super) option: Option<Text>,
}
