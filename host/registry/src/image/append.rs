//! Adding a layer to an image.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::layer::Layer;
use super::read::Image;
use crate::error::{Cause, RegistryError};
use crate::manifest::{Descriptor, RawManifest};
use crate::media;
use crate::place::Storage;

/// A layer to add to an image.
#[derive(Debug)]
pub struct NewLayer {
    /// The layer with the new files.
    pub layer: Layer,
    /// Command that created the layer, for the image's history.
    pub created_by: String,
    /// Labels to set. They replace labels of the same name.
    pub labels: BTreeMap<String, String>,
}

impl Image {
    /// Writes this image with an additional layer to `to` and returns the new manifest. It does not
    /// set a tag or name. Blobs that exist at the target are not written again.
    ///
    /// # Errors
    ///
    /// A layer is not readable, the configuration is malformed, or the target rejects something.
    pub async fn append(&self, addition: &NewLayer, to: &Storage) -> Result<RawManifest, RegistryError> {
        let what = "add a layer to the image";
        let config = self.extended(addition).map_err(|cause| cause.of(what))?;
        let config = serde_json::to_vec(&config).map_err(|error| Cause::Malformed(error.to_string()).of(what))?;
        let mut manifest = self.manifest.clone();
        manifest.config = Descriptor::of(media::OCI_CONFIG, &config);
        // Replace Docker's media types by those of OCI. An image must use only one of the two.
        manifest.media_type = Some(media::OCI_MANIFEST.into());
        for layer in &mut manifest.layers {
            if let Some(kind) = media::oci_layer(&layer.media_type) {
                layer.media_type = kind.into();
            }
        }
        manifest.layers.push(addition.layer.descriptor.clone());
        // The result is another image, so it does not have the subject of the base image.
        manifest.subject = None;
        let manifest = RawManifest::of_image(&manifest).map_err(|cause| cause.of(what))?;

        let mut done = HashSet::new();
        for layer in &self.manifest.layers {
            if done.insert(layer.digest) && !to.has(layer).await? {
                let fetched = self.place.fetch(layer).await?;
                to.store(layer, fetched.path()).await?;
            }
        }
        let layer = &addition.layer;
        if !to.has(&layer.descriptor).await? {
            to.store(&layer.descriptor, layer.file.path()).await?;
        }
        let file = tempfile::NamedTempFile::new()
            .and_then(|file| std::fs::write(file.path(), &config).map(|()| file))
            .map_err(|error| Cause::file(&std::env::temp_dir())(error).of(what))?;
        to.store(&Descriptor::of(media::OCI_CONFIG, &config), file.path()).await?;
        to.put(&manifest).await?;
        Ok(manifest)
    }

    fn extended(&self, addition: &NewLayer) -> Result<Map<String, Value>, Cause> {
        let wrong =
            |key: &str| Cause::Malformed(format!("`{key}` of the image's configuration has an unexpected form"));
        let mut config = self.config.clone();
        let diff_ids = config.get_mut("rootfs").and_then(|rootfs| rootfs.get_mut("diff_ids"));
        let diff_ids = diff_ids.and_then(Value::as_array_mut).ok_or_else(|| wrong("rootfs.diff_ids"))?;
        diff_ids.push(json!(addition.layer.diff_id));
        let bare = diff_ids.len() == 1;
        // Do not add a history that covers only the last layer, because readers count its entries.
        match config.get_mut("history") {
            Some(Value::Array(history)) => history.push(json!({"created_by": addition.created_by})),
            None | Some(Value::Null) if bare => {
                config.insert("history".into(), json!([{"created_by": addition.created_by}]));
            }
            None | Some(Value::Null) => {}
            Some(_) => return Err(wrong("history")),
        }
        let inner = object(&mut config, "config").ok_or_else(|| wrong("config"))?;
        let labels = object(inner, "Labels").ok_or_else(|| wrong("config.Labels"))?;
        for (name, value) in &addition.labels {
            labels.insert(name.clone(), json!(value));
        }
        Ok(config)
    }
}

/// Returns the object under `key`, which is created if it is missing. `None` if the value is not an
/// object.
fn object<'a>(of: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let value = of.entry(key.to_owned()).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}
