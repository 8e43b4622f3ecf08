//! Manifests and indexes: documents that name contents by digest, size and kind.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::error::Cause;
use crate::limits::{MAX_INDEX_ENTRIES, MAX_LAYERS, MAX_MANIFEST_BYTES};
use crate::media;

/// Names a content: kind, digest and size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The kind of content.
    pub media_type: String,
    /// Its digest.
    pub digest: Digest,
    /// Its bytes.
    pub size: u64,
    /// Remarks.
    #[serde(default, deserialize_with = "or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The kind of artefact, where the content is a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// What else there is, such as a platform: kept as it came.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What is absent and what is `null` mean the same: some tools write the latter.
fn or_empty<'de, D: serde::Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Descriptor {
    /// Of some bytes.
    #[must_use]
    pub fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self::new(media_type, Digest::of(bytes), bytes.len() as u64)
    }

    /// Of a content that is known by digest and size.
    #[must_use]
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest,
            size,
            annotations: BTreeMap::new(),
            artifact_type: None,
            other: Map::new(),
        }
    }
}

/// A manifest: a configuration and layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageManifest {
    /// Always 2.
    pub schema_version: u8,
    /// The kind of this document; the specification lets it be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The kind of artefact, if it is no container image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The configuration.
    pub config: Descriptor,
    /// The contents.
    #[serde(default, deserialize_with = "or_empty")]
    pub layers: Vec<Descriptor>,
    /// What this belongs to: a signature to an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// Remarks.
    #[serde(default, deserialize_with = "or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A list of manifests: one per platform, or all that belong to something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// Always 2.
    pub schema_version: u8,
    /// The kind of this document; the specification lets it be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The manifests.
    #[serde(default, deserialize_with = "or_empty")]
    pub manifests: Vec<Descriptor>,
    /// What else there is: kept as it came.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Default for Index {
    fn default() -> Self {
        Self { schema_version: 2, media_type: Some(media::OCI_INDEX.into()), manifests: Vec::new(), other: Map::new() }
    }
}

/// A document that names other contents.
#[derive(Debug, Clone, PartialEq)]
pub enum Manifest {
    /// A manifest.
    Image(Box<ImageManifest>),
    /// An index.
    Index(Index),
}

/// A document as it came, byte for byte, so that its digest stays what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct RawManifest {
    /// Its bytes.
    pub bytes: Bytes,
    /// Its kind: one that is understood here.
    pub media_type: String,
    /// Its digest.
    pub digest: Digest,
    /// What it says.
    pub manifest: Manifest,
}

impl RawManifest {
    /// Reads a document that came as `said` (the `Content-Type` of an answer, the kind in a descriptor).
    ///
    /// # Errors
    ///
    /// It is too large, no JSON, of a kind that is not understood, of another kind than was said, or both kinds at once.
    pub(crate) fn parse(bytes: Bytes, said: Option<&str>) -> Result<Self, Cause> {
        if bytes.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(Cause::TooLarge { limit: MAX_MANIFEST_BYTES });
        }
        let wrong = |why: String| Cause::Malformed(format!("it is not a manifest: {why}"));
        // A value first: what nests too deeply ends here, and a document that is two things at once is seen.
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        let written = value.get("mediaType").and_then(Value::as_str);
        // Types of some servers carry parameters.
        let said = said.map(|said| said.split(';').next().unwrap_or_default().trim()).filter(|said| {
            // What a server says of every JSON document says nothing.
            !matches!(*said, "application/json" | "text/plain" | "application/octet-stream" | "")
        });
        let has = |key: &str| value.get(key).is_some_and(|value| !value.is_null());
        let kind = match (written, said) {
            (Some(written), Some(said)) if written != said => {
                return Err(wrong(format!("it came as `{}`, and calls itself `{}`", cut(said), cut(written))));
            }
            (Some(kind), _) | (None, Some(kind)) => kind.to_owned(),
            (None, None) if has("manifests") => media::OCI_INDEX.to_owned(),
            (None, None) => media::OCI_MANIFEST.to_owned(),
        };
        let Some(index) = media::is_index(&kind) else {
            return Err(Cause::Kind(format!(
                "it is a document of type `{}`, which is not understood; an OCI image manifest or index is",
                cut(&kind)
            )));
        };
        // Read as one thing by one tool and as another by the next: a document that hides something.
        if has("manifests") && (has("layers") || has("config")) {
            return Err(wrong("it has the fields of a manifest and of an index".into()));
        }
        let manifest = if index {
            let index: Index = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
            if index.manifests.len() > MAX_INDEX_ENTRIES {
                return Err(wrong(format!("it has more than {MAX_INDEX_ENTRIES} entries")));
            }
            Manifest::Index(index)
        } else {
            let image: ImageManifest = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
            if image.layers.len() > MAX_LAYERS {
                return Err(wrong(format!("it has more than {MAX_LAYERS} layers")));
            }
            Manifest::Image(Box::new(image))
        };
        let version = match &manifest {
            Manifest::Image(image) => image.schema_version,
            Manifest::Index(index) => index.schema_version,
        };
        if version != 2 {
            return Err(wrong(format!("its schemaVersion is {version}, and 2 is understood")));
        }
        Ok(Self { digest: Digest::of(&bytes), bytes, media_type: kind, manifest })
    }

    /// Writes a manifest: the same fields always give the same bytes.
    pub(crate) fn of_image(image: &ImageManifest) -> Result<Self, Cause> {
        Self::written(serde_json::to_vec(image))
    }

    /// Writes an index.
    pub(crate) fn of_index(index: &Index) -> Result<Self, Cause> {
        Self::written(serde_json::to_vec(index))
    }

    fn written(bytes: serde_json::Result<Vec<u8>>) -> Result<Self, Cause> {
        let bytes = bytes.map_err(|error| Cause::Malformed(error.to_string()))?;
        Self::parse(bytes.into(), None)
    }

    /// Names it.
    #[must_use]
    pub fn descriptor(&self) -> Descriptor {
        let mut descriptor = Descriptor::new(&self.media_type, self.digest, self.bytes.len() as u64);
        if let Manifest::Image(image) = &self.manifest {
            descriptor.artifact_type = image.kind_of_artifact();
        }
        descriptor
    }

    /// It must be what a descriptor promises.
    pub(crate) fn must_be(&self, wanted: &Descriptor) -> Result<(), Cause> {
        let got = self.bytes.len() as u64;
        if self.digest != wanted.digest {
            return Err(Cause::Mismatch { wanted: wanted.digest, got: self.digest });
        }
        if got != wanted.size {
            return Err(Cause::Size { said: wanted.size, got, more: got > wanted.size });
        }
        Ok(())
    }
}

impl ImageManifest {
    /// The kind of artefact: the field, or, as the specification has it, the kind of the configuration.
    #[must_use]
    pub fn kind_of_artifact(&self) -> Option<String> {
        let config = &self.config.media_type;
        self.artifact_type.clone().or_else(|| (config != media::OCI_CONFIG).then(|| config.clone()))
    }
}

fn cut(text: &str) -> String {
    plumbline_core::text::excerpt(text, 100)
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
