//! Container images: reads them from a registry or layout, adds a layer, and writes the result
//! elsewhere.
//!
//! Existing layers stay unchanged. Configuration and manifest are new.

mod file;
mod layer;

pub use layer::{Layer, LayerBuilder, NewLayer};

use std::fmt;
use std::str::FromStr;

use plumbline_core::text::excerpt;
use serde_json::{Map, Value, json};

use crate::error::{Cause, RegistryError};
use crate::layout::Layout;
use crate::manifest::{Descriptor, ImageManifest, RawManifest};
use crate::media;
use crate::reference::{Reference, ReferenceError};
use crate::storage::Storage;

/// Platform of an image, such as `linux/amd64` or `linux/arm64/v8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// The operating system.
    pub os: String,
    /// The architecture, with Go's names.
    pub architecture: String,
    /// The variant. `None` matches any variant.
    pub variant: Option<String>,
}

impl FromStr for Platform {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('/').map(str::to_owned);
        let platform = (parts.next(), parts.next(), parts.next(), parts.next());
        match platform {
            (Some(os), Some(architecture), variant, None)
                if !os.is_empty() && !architecture.is_empty() && variant.as_deref() != Some("") =>
            {
                Ok(Self { os, architecture, variant })
            }
            _ => Err(format!("`{text}` is not a platform: expected `OS/ARCHITECTURE`, such as `linux/amd64`")),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.as_ref().map_or(Ok(()), |variant| write!(f, "/{variant}"))
    }
}

impl Platform {
    /// Reads the platform of an index entry or of a configuration. Both have the same keys.
    fn of(fields: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(|text| excerpt(text, 100));
        Some(Self { os: text("os")?, architecture: text("architecture")?, variant: text("variant") })
    }

    /// Returns whether operating system and architecture match `wanted`, regardless of the variant.
    fn is_kind(&self, wanted: &Self) -> bool {
        self.os == wanted.os && self.architecture == wanted.architecture
    }

    /// Returns whether this platform matches `wanted`.
    fn matches(&self, wanted: &Self) -> bool {
        // For arm64, a missing variant means `v8`, which is often omitted.
        let usual = (self.architecture == "arm64").then_some("v8");
        let variant = |of: &Self| of.variant.as_deref().or(usual).map(str::to_owned);
        self.is_kind(wanted) && (wanted.variant.is_none() || variant(self) == variant(wanted))
    }
}

/// An image: its manifest and its configuration. Layers are fetched when they are needed.
#[derive(Debug, Clone)]
pub struct Image {
    storage: Storage,
    manifest: ImageManifest,
    raw: RawManifest,
    /// The configuration, with all keys.
    config: Map<String, Value>,
}

impl Image {
    /// Reads the image `root`, or if it is an index, the image for `platform`.
    pub async fn read(
        storage: &Storage,
        root: RawManifest,
        platform: Option<&Platform>,
    ) -> Result<Self, RegistryError> {
        let what = format!("read image {}", root.digest);
        let (raw, manifest) = storage.resolve(root, |entries| select(entries, platform), &what).await?;
        let config = storage.config(&manifest.config, &what).await?;
        let check = || {
            let config: Map<String, Value> = serde_json::from_slice(&config)
                .map_err(|error| Cause::Kind(format!("invalid configuration of a container image: {error}")))?;
            let image = Self { storage: storage.clone(), manifest, raw, config };
            image.check_layers()?;
            match (platform, image.platform()) {
                // Many configurations omit the variant. In that case, the index decides.
                (Some(wanted), Some(is)) if !(is.matches(wanted) || is.variant.is_none() && is.is_kind(wanted)) => {
                    Err(Cause::Kind(format!("it is for {is}, expected {wanted}")))
                }
                _ => Ok(image),
            }
        };
        check().map_err(|cause: Cause| cause.of(what))
    }

    /// Returns the manifest of the image, which is not the index that it was selected from.
    pub fn raw(&self) -> &RawManifest {
        &self.raw
    }

    /// Returns the platform in the configuration.
    pub fn platform(&self) -> Option<Platform> {
        Platform::of(&self.config)
    }

    /// Returns a label of the configuration.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.config.get("config")?.get("Labels")?.get(name)?.as_str()
    }

    /// Checks that the configuration has a digest for each layer. Otherwise a container runtime
    /// would reject the result.
    fn check_layers(&self) -> Result<(), Cause> {
        let rootfs = self.config.get("rootfs");
        let layers = rootfs.and_then(|rootfs| rootfs.get("diff_ids")).and_then(Value::as_array);
        match layers {
            Some(list) if list.len() == self.manifest.layers.len() => Ok(()),
            Some(list) => Err(Cause::Malformed(format!(
                "its configuration has {} layers, but its manifest has {}",
                list.len(),
                self.manifest.layers.len()
            ))),
            None => Err(Cause::Kind("it is not a container image: its configuration has no layers".into())),
        }
    }
}

/// Selects an entry of an index.
fn select<'a>(entries: &'a [Descriptor], platform: Option<&Platform>) -> Result<&'a Descriptor, Cause> {
    let of = |entry: &Descriptor| entry.other.get("platform").and_then(Value::as_object).and_then(Platform::of);
    let images = || entries.iter().filter(|entry| !entry.is_attestation());
    let mut fitting: Vec<&Descriptor> = match platform {
        None => images().collect(),
        Some(wanted) => images().filter(|entry| of(entry).is_some_and(|is| is.matches(wanted))).collect(),
    };
    if fitting.is_empty() {
        // If no entry matches, entries without a platform are candidates.
        fitting = images().filter(|entry| of(entry).is_none()).collect();
    }
    if let [one] = fitting.as_slice() {
        return Ok(one);
    }
    let there: Vec<String> = images().filter_map(of).take(20).map(|platform| platform.to_string()).collect();
    let there = if there.is_empty() { "none with a platform".to_owned() } else { there.join(", ") };
    Err(Cause::Kind(match platform {
        Some(wanted) if fitting.is_empty() => format!("it has no image for {wanted}; available platforms: {there}"),
        _ => format!("it has several images: choose a platform; available platforms: {there}"),
    }))
}

/// Full name of an image as container engines and nodes use it: `registry/repository:tag`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageName(Reference);

impl FromStr for ImageName {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        Ok(Self(text.parse::<Reference>()?.tagged()))
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.bare())
    }
}

/// Adds an image to a layout's index, so that containerd, Podman and skopeo find it by its name.
/// The platform is copied from `base`.
pub fn list_image(layout: &Layout, image: &RawManifest, base: &Image, name: &ImageName) -> Result<(), Cause> {
    let mut descriptor = image.descriptor();
    descriptor.annotations.insert(media::CONTAINERD_NAME.into(), name.to_string());
    if let Some(platform) = base.platform() {
        let mut fields = json!({"os": platform.os, "architecture": platform.architecture});
        if let (Some(variant), Some(fields)) = (platform.variant, fields.as_object_mut()) {
            fields.insert("variant".into(), json!(variant));
        }
        descriptor.other.insert("platform".into(), fields);
    }
    layout.list(descriptor, Some(name.0.tag_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(platform: &str, digest: &[u8]) -> Descriptor {
        let platform: Platform = platform.parse().unwrap();
        let mut entry = Descriptor::of(media::OCI_MANIFEST, digest);
        let mut fields = serde_json::json!({"os": platform.os, "architecture": platform.architecture});
        if let Some(variant) = platform.variant {
            fields["variant"] = variant.into();
        }
        entry.other.insert("platform".into(), fields);
        entry
    }

    #[test]
    fn a_platform_is_selected_and_all_are_listed() {
        let mut statement = entry("unknown/unknown", b"s");
        statement.annotations.insert("vnd.docker.reference.type".into(), "attestation-manifest".into());
        let all = [entry("linux/amd64", b"a"), entry("linux/arm64/v8", b"b"), entry("linux/arm64/v9", b"c"), statement];
        let of = |text: &str| select(&all, Some(&text.parse().unwrap())).map_err(|cause| cause.to_string());
        assert_eq!(of("linux/amd64").unwrap(), &all[0]);
        assert_eq!(of("linux/arm64/v9").unwrap(), &all[2]);
        assert!(of("linux/arm64").unwrap_err().contains("several"));
        assert_eq!(of("linux/arm64/v8").unwrap(), &all[1]);
        assert!(
            of("linux/s390x").unwrap_err().contains("available platforms: linux/amd64, linux/arm64/v8, linux/arm64/v9")
        );
        assert!(select(&all, None).unwrap_err().to_string().contains("choose a platform"));
        assert_eq!(select(&all[..1], None).unwrap(), &all[0]);
        assert!(select(&[], None).is_err());
        // An entry without a platform is not selected if another entry matches.
        let mut unsaid = Descriptor::of(media::OCI_MANIFEST, b"u");
        let some = [entry("linux/amd64", b"a"), unsaid.clone(), entry("linux/arm64", b"b")];
        let of = |text: &str| select(&some, Some(&text.parse().unwrap())).map_err(|cause| cause.to_string());
        assert_eq!(of("linux/amd64").unwrap(), &some[0]);
        assert_eq!(of("linux/s390x").unwrap(), &some[1]);
        // Default variants are often omitted.
        assert_eq!(of("linux/arm64/v8").unwrap(), &some[2]);
        assert_eq!(of("linux/arm64/v9").unwrap(), &some[1]);
        unsaid.annotations.insert("vnd.docker.reference.type".into(), "attestation-manifest".into());
        assert!(select(&[unsaid], Some(&"linux/amd64".parse().unwrap())).is_err());
        for wrong in ["linux", "linux/", "/amd64", "linux/arm64/", "a/b/c/d"] {
            assert!(wrong.parse::<Platform>().is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_variant_that_only_the_index_tells_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::create(dir.path()).unwrap();
        let put = |kind: &str, bytes: &[u8]| {
            let descriptor = Descriptor::of(kind, bytes);
            std::fs::write(dir.path().join("blobs/sha256").join(descriptor.digest.hex()), bytes).unwrap();
            descriptor
        };
        let config = put(media::OCI_CONFIG, br#"{"os":"linux","architecture":"arm","rootfs":{"diff_ids":[]}}"#);
        let manifest = serde_json::json!({"schemaVersion": 2, "config": config, "layers": []}).to_string();
        let mut entry = put(media::OCI_MANIFEST, manifest.as_bytes());
        entry
            .other
            .insert("platform".into(), serde_json::json!({"os": "linux", "architecture": "arm", "variant": "v7"}));
        let index = serde_json::json!({"schemaVersion": 2, "manifests": [entry]}).to_string();
        let index = RawManifest::parse(index.into_bytes().into(), Some(media::OCI_INDEX)).unwrap();
        let place = Storage::Layout(layout);
        for platform in ["linux/arm/v7", "linux/arm"] {
            let read = Image::read(&place, index.clone(), Some(&platform.parse().unwrap())).await.unwrap();
            assert_eq!(read.raw().digest, entry.digest, "{platform}");
        }
        for platform in ["linux/arm/v6", "linux/arm64"] {
            Image::read(&place, index.clone(), Some(&platform.parse().unwrap())).await.unwrap_err();
        }
    }
}
