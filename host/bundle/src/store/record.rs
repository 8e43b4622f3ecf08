//! What is known of an installation: `install.json`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Where a bundle comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// What was asked for: a path, an address, a reference.
    pub source: String,
    /// What the source calls this version, such as a tag.
    pub version: Option<String>,
    /// Its signatures as they came: DSSE envelopes, as JSON. They are kept beside the bundle, and not looked at here.
    pub signatures: Option<Vec<u8>>,
}

/// `install.json` of an installed bundle. Keys are only ever added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct InstallRecord {
    /// What was asked for.
    pub source: String,
    /// The digest of the bundle.
    pub digest: Digest,
    /// When it was installed.
    pub when: Timestamp,
    /// What the source calls this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
