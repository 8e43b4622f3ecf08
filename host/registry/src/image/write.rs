//! Names of images, and how a layout tells them.

use serde_json::json;

use super::read::Image;
use crate::error::Cause;
use crate::layout::Layout;
use crate::manifest::RawManifest;
use crate::reference::Reference;

/// The annotation by which containerd names what it imports.
const CONTAINERD_NAME: &str = "io.containerd.image.name";

/// A full name of an image, as engines and nodes know it: `registry/repository:tag`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageName(Reference);

impl std::str::FromStr for ImageName {
    type Err = crate::reference::ReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named: Reference = text.parse()?;
        named.with_tag(named.tag_or_default()).map(Self)
    }
}

impl std::fmt::Display for ImageName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.bare())
    }
}

/// Lists an image in a layout so that containerd, Podman and skopeo find it by its name. `base` says what it runs on.
///
/// # Errors
///
/// The layout cannot be written.
pub fn list_image(layout: &Layout, image: &RawManifest, base: &Image, name: &ImageName) -> Result<(), Cause> {
    let mut descriptor = image.descriptor();
    descriptor.annotations.insert(CONTAINERD_NAME.into(), name.to_string());
    if let Some(platform) = base.platform() {
        let mut fields = json!({"os": platform.os, "architecture": platform.architecture});
        if let (Some(variant), Some(fields)) = (platform.variant, fields.as_object_mut()) {
            fields.insert("variant".into(), json!(variant));
        }
        descriptor.other.insert("platform".into(), fields);
    }
    layout.list(descriptor, Some(name.0.tag_or_default()))
}
