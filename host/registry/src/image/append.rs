//! One more layer on an image.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::layer::Layer;
use super::read::Image;
use crate::error::{Cause, RegistryError};
use crate::manifest::{Descriptor, RawManifest};
use crate::media;
use crate::place::Place;

/// What is added to an image.
#[derive(Debug)]
pub struct Addition {
    /// The files.
    pub layer: Layer,
    /// What has made them: for the image's history.
    pub created_by: String,
    /// Labels, which replace those of the same name.
    pub labels: BTreeMap<String, String>,
}

impl Image {
    /// Writes this image with one more layer to another place, where it has no name yet; its manifest. What the place has already is not
    /// written again.
    ///
    /// # Errors
    ///
    /// A layer cannot be read, the configuration makes no sense, or the place does not take it.
    pub async fn append(&self, addition: &Addition, to: &Place) -> Result<RawManifest, RegistryError> {
        let what = "add a layer to the image";
        let config = self.extended(addition).map_err(|cause| cause.of(what))?;
        let config = serde_json::to_vec(&config).map_err(|error| Cause::Malformed(error.to_string()).of(what))?;
        let mut manifest = self.manifest.clone();
        manifest.config = Descriptor::of(media::OCI_CONFIG, &config);
        // Docker's names for the same contents: an image has either those or OCI's.
        manifest.media_type = Some(media::OCI_MANIFEST.into());
        for layer in &mut manifest.layers {
            if let Some(kind) = media::oci_layer(&layer.media_type) {
                layer.media_type = kind.into();
            }
        }
        manifest.layers.push(addition.layer.descriptor.clone());
        // It is another image: what the base belongs to says nothing of it.
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

    fn extended(&self, addition: &Addition) -> Result<Map<String, Value>, Cause> {
        let wrong =
            |key: &str| Cause::Malformed(format!("`{key}` of the image's configuration is not what it should be"));
        let mut config = self.config.clone();
        let diff_ids = config.get_mut("rootfs").and_then(|rootfs| rootfs.get_mut("diff_ids"));
        let diff_ids = diff_ids.and_then(Value::as_array_mut).ok_or_else(|| wrong("rootfs.diff_ids"))?;
        diff_ids.push(json!(addition.layer.diff_id));
        let bare = diff_ids.len() == 1;
        // One that has no history does not get one that tells of the last layer alone: readers count its entries.
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

/// The object under a key, which is made if there is none. `None`: there is something else.
fn object<'a>(of: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let value = of.entry(key.to_owned()).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}
