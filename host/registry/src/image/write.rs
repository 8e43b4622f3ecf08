//! Names of images in a layout.

use serde_json::json;

use super::read::Image;
use crate::error::Cause;
use crate::layout::Layout;
use crate::manifest::RawManifest;
use crate::reference::Reference;

/// Annotation that containerd uses as the name of an imported image.
const CONTAINERD_NAME: &str = "io.containerd.image.name";

/// Full name of an image as container engines and nodes use it: `registry/repository:tag`.
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

/// Adds an image to a layout's index, so that containerd, Podman and skopeo find it by its name.
/// The platform is copied from `base`.
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
