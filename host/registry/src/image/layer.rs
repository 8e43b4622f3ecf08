//! Layers that are added to an image: compressed tars with two digests. The same files always yield
//! the same bytes.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use plumbline_core::{Digest, DigestWriter};
use serde_json::{Map, Value, json};
use tar::{Builder, EntryType, Header};
use tempfile::NamedTempFile;

use super::Image;
use super::file::OPAQUE;
use crate::copy::copy_blob;
use crate::error::{Cause, RegistryError};
use crate::manifest::{Descriptor, RawManifest};
use crate::media;
use crate::storage::Storage;

/// Collects the files of a new layer.
#[derive(Debug, Clone, Default)]
pub struct LayerBuilder {
    /// Entries by path, so that they are written in a fixed order.
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone)]
enum Entry {
    Directory,
    File { from: PathBuf, executable: bool },
    Empty,
}

/// A layer in a temporary file, which is deleted when this value is dropped.
#[derive(Debug)]
pub struct Layer {
    descriptor: Descriptor,
    diff_id: Digest,
    file: NamedTempFile,
}

impl LayerBuilder {
    /// Adds a local file as `path`, which is relative to the root. Parent directories are added
    /// too.
    pub fn file(&mut self, path: &str, from: &Path, executable: bool) -> Result<(), Cause> {
        self.add(path, Entry::File { from: from.to_owned(), executable })
    }

    /// Hides the content of the directory `path` in lower layers. Only the files added here are
    /// then visible.
    pub fn hide(&mut self, path: &str) -> Result<(), Cause> {
        self.add(&format!("{path}/{OPAQUE}"), Entry::Empty)
    }

    fn add(&mut self, path: &str, entry: Entry) -> Result<(), Cause> {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        if !path.split('/').all(plain) {
            return Err(Cause::Malformed(format!("`{path}` is not a path in a layer")));
        }
        for (at, _) in path.match_indices('/') {
            let above = path.get(..at).unwrap_or_default();
            self.entries.entry(format!("{above}/")).or_insert(Entry::Directory);
        }
        self.entries.insert(path.to_owned(), entry);
        Ok(())
    }

    /// Writes the layer. All entries belong to root and have no times.
    pub fn write(&self) -> Result<Layer, Cause> {
        let file = NamedTempFile::new().map_err(Cause::file(&std::env::temp_dir()))?;
        let unwritable = |error| Cause::file(file.path())(error);
        // By default, the gzip header contains neither a name nor a time.
        let mut encoder = GzEncoder::new(BufWriter::new(file.as_file()), Compression::default());
        let mut tar = Builder::new(DigestWriter::new(&mut encoder));
        for (path, entry) in &self.entries {
            match entry {
                Entry::Directory => append(&mut tar, path, EntryType::Directory, 0o755, 0, io::empty()),
                Entry::Empty => append(&mut tar, path, EntryType::Regular, 0o644, 0, io::empty()),
                Entry::File { from, executable } => {
                    let source = File::open(from).map_err(Cause::file(from))?;
                    let size = source.metadata().map_err(Cause::file(from))?.len();
                    let mode = if *executable { 0o755 } else { 0o644 };
                    append(&mut tar, path, EntryType::Regular, mode, size, source)
                }
            }
            .map_err(unwritable)?;
        }
        let diff_id = tar.into_inner().map_err(unwritable)?.digest();
        encoder.finish().and_then(|mut file| file.flush()).map_err(unwritable)?;
        let descriptor = Descriptor::of_file(media::OCI_LAYER_GZIP, file.path())?;
        Ok(Layer { descriptor, diff_id, file })
    }
}

fn append(
    tar: &mut Builder<impl Write>,
    path: &str,
    kind: EntryType,
    mode: u32,
    size: u64,
    content: impl Read,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    // If the file has grown meanwhile, only the old size is read. If it has shrunk, the tar would
    // be truncated, so this is an error.
    let mut content = content.take(size);
    tar.append_data(&mut header, path, &mut content)?;
    match content.limit() {
        0 => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("`{path}` became shorter while it was read"))),
    }
}

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
        let manifest = RawManifest::write(&manifest).map_err(|cause| cause.of(what))?;

        let mut done = HashSet::new();
        for layer in &self.manifest.layers {
            if done.insert(layer.digest) {
                copy_blob(&self.storage, layer, to).await?;
            }
        }
        let layer = &addition.layer;
        if !to.has(&layer.descriptor).await? {
            to.store(&layer.descriptor, layer.file.path()).await?;
        }
        let file = NamedTempFile::new()
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
