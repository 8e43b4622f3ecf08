//! Manifests and indexes: documents that reference blobs by digest, size and media type.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;
use plumbline_core::text::excerpt;
use plumbline_core::{Digest, DigestWriter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Cause;
use crate::limits::{MAX_INDEX_ENTRIES, MAX_LAYERS, MAX_MANIFEST_BYTES};
use crate::media;

/// Configuration of an artifact without one.
pub(crate) const EMPTY: &[u8] = b"{}";

/// Descriptor of a blob or manifest: media type, digest and size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Media type.
    pub media_type: String,
    /// Digest of the bytes.
    pub digest: Digest,
    /// Size in bytes.
    pub size: u64,
    /// Annotations.
    #[serde(default, deserialize_with = "or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Artifact type, if the descriptor is for a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Other fields, such as a platform. They are preserved.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Deserializes `null` as the default value, like a missing field. Some tools write `null`.
fn or_empty<'de, D: serde::Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Descriptor {
    /// Returns the descriptor of `bytes`.
    pub fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self::new(media_type, Digest::of(bytes), bytes.len() as u64)
    }

    /// Returns the descriptor of a blob with a known digest and size.
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

    /// Returns the descriptor of a file. It reads the whole file once.
    pub(crate) fn of_file(media_type: &str, path: &Path) -> Result<Self, Cause> {
        let mut writer = DigestWriter::new(io::sink());
        File::open(path).and_then(|mut file| io::copy(&mut file, &mut writer)).map_err(Cause::file(path))?;
        Ok(Self::new(media_type, writer.digest(), writer.bytes()))
    }

    /// Checks that a blob with this size and digest is the described one. A reader of untrusted
    /// bytes stops as soon as it has more than the size.
    pub(crate) fn verify(&self, got: u64, digest: Digest) -> Result<(), Cause> {
        if got != self.size {
            return Err(Cause::Size { said: self.size, got, more: got > self.size });
        }
        if digest != self.digest {
            return Err(Cause::Mismatch { wanted: self.digest, got: digest });
        }
        Ok(())
    }

    /// Returns whether it is a build attestation, which is listed next to the images.
    pub(crate) fn is_attestation(&self) -> bool {
        self.annotations.contains_key("vnd.docker.reference.type")
    }
}

/// An image manifest: a configuration and layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageManifest {
    /// Always 2.
    pub schema_version: u8,
    /// Media type of this document. Optional in the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Artifact type, if the manifest is not a container image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The configuration.
    pub config: Descriptor,
    /// Layers of the image.
    #[serde(default, deserialize_with = "or_empty")]
    pub layers: Vec<Descriptor>,
    /// The manifest that this one refers to, such as the image of a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// Annotations.
    #[serde(default, deserialize_with = "or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A list of manifests: one per platform, or all referrers of a manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// Always 2.
    pub schema_version: u8,
    /// Media type of this document. Optional in the specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The manifests.
    #[serde(default, deserialize_with = "or_empty")]
    pub manifests: Vec<Descriptor>,
    /// Other fields, which are preserved.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Default for Index {
    fn default() -> Self {
        Self { schema_version: 2, media_type: Some(media::OCI_INDEX.into()), manifests: Vec::new(), other: Map::new() }
    }
}

/// A parsed manifest or index.
#[derive(Debug, Clone, PartialEq)]
pub enum Manifest {
    /// An image manifest.
    Image(Box<ImageManifest>),
    /// An index.
    Index(Index),
}

/// A manifest or index with its original bytes, so that its digest stays the same.
#[derive(Debug, Clone, PartialEq)]
pub struct RawManifest {
    /// The original bytes.
    pub bytes: Bytes,
    /// Media type, which is one of the supported types.
    pub media_type: String,
    /// Digest of the bytes.
    pub digest: Digest,
    /// The parsed document.
    pub manifest: Manifest,
}

impl RawManifest {
    /// Parses a document. `said` is the media type from the `Content-Type` of a response or from a
    /// descriptor.
    pub(crate) fn parse(bytes: Bytes, said: Option<&str>) -> Result<Self, Cause> {
        if bytes.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(Cause::TooLarge(MAX_MANIFEST_BYTES));
        }
        let wrong = |why: String| Cause::Malformed(format!("it is not a manifest: {why}"));
        // Parse to a value first. This rejects deep nesting, and shows whether a document is
        // ambiguous.
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        let written = value.get("mediaType").and_then(Value::as_str);
        // Some servers append parameters to the media type.
        let said = said.map(|said| said.split(';').next().unwrap_or_default().trim()).filter(|said| {
            // Ignore generic media types of servers.
            !matches!(*said, "application/json" | "text/plain" | "application/octet-stream" | "")
        });
        let has = |key: &str| value.get(key).is_some_and(|value| !value.is_null());
        let kind = match (written, said) {
            (Some(written), Some(said)) if written != said => {
                return Err(wrong(format!(
                    "it was sent as `{}`, but its `mediaType` is `{}`",
                    excerpt(said, 100),
                    excerpt(written, 100)
                )));
            }
            (Some(kind), _) | (None, Some(kind)) => kind.to_owned(),
            (None, None) if has("manifests") => media::OCI_INDEX.to_owned(),
            (None, None) => media::OCI_MANIFEST.to_owned(),
        };
        let Some(index) = media::is_index(&kind) else {
            return Err(Cause::Kind(format!(
                "unsupported document type `{}`: expected an OCI image manifest or index",
                excerpt(&kind, 100)
            )));
        };
        // Tools could interpret such a document differently, so it may hide something.
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
            return Err(wrong(format!("unsupported schemaVersion {version}: expected 2")));
        }
        Ok(Self { digest: Digest::of(&bytes), bytes, media_type: kind, manifest })
    }

    /// Serializes an image manifest or an index. The same fields always yield the same bytes.
    pub(crate) fn write(document: &impl Serialize) -> Result<Self, Cause> {
        let bytes = serde_json::to_vec(document).map_err(|error| Cause::Malformed(error.to_string()))?;
        Self::parse(bytes.into(), None)
    }

    /// Returns the manifest that this one refers to, if there is one.
    pub(crate) fn subject(&self) -> Option<&Descriptor> {
        match &self.manifest {
            Manifest::Image(image) => image.subject.as_ref(),
            Manifest::Index(_) => None,
        }
    }

    /// Returns the descriptor of the document.
    pub fn descriptor(&self) -> Descriptor {
        let mut descriptor = Descriptor::new(&self.media_type, self.digest, self.bytes.len() as u64);
        if let Manifest::Image(image) = &self.manifest {
            descriptor.artifact_type = image.kind_of_artifact();
        }
        descriptor
    }
}

impl ImageManifest {
    /// Creates a manifest without subject and annotations. Container images have no artifact type.
    pub(crate) fn new(artifact_type: Option<&str>, config: Descriptor, layers: Vec<Descriptor>) -> Self {
        Self {
            schema_version: 2,
            media_type: Some(media::OCI_MANIFEST.into()),
            artifact_type: artifact_type.map(str::to_owned),
            config,
            layers,
            subject: None,
            annotations: BTreeMap::new(),
        }
    }

    /// Returns the artifact type: the field, or, according to the specification, the media type of
    /// the configuration. `None` for a container image.
    pub fn kind_of_artifact(&self) -> Option<String> {
        let config = &self.config.media_type;
        self.artifact_type.clone().or_else(|| (config != media::OCI_CONFIG).then(|| config.clone()))
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
