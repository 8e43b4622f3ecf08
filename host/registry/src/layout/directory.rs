//! Layouts in a directory. Their content is verified like that of a registry, because they may come
//! from a removable drive.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use plumbline_core::{Digest, DigestWriter};
use serde::Deserialize;
use tempfile::NamedTempFile;

use crate::error::Cause;
use crate::limits::{MAX_DEPTH, MAX_MANIFEST_BYTES};
use crate::manifest::{Descriptor, Index, Manifest, RawManifest};
use crate::media;

/// File that marks a directory as a layout.
pub(super) const MARK: &str = "oci-layout";
/// Content of the marker file.
const MARK_TEXT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
/// File that lists the manifests.
pub(super) const INDEX: &str = "index.json";
/// Name prefix of incomplete files.
const UNFINISHED: &str = ".tmp-";
/// Lock for changes to the index. Without it, one of two concurrent changes would be lost.
/// Concurrent copies of several images into one layout list referrers while they run.
static LISTING: Mutex<()> = Mutex::new(());
/// Directory of blobs, named by the digits of their digest.
pub(super) const BLOBS: &str = "blobs/sha256";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mark {
    image_layout_version: String,
}

/// An OCI image layout in a directory.
#[derive(Debug, Clone)]
pub struct Layout {
    dir: PathBuf,
}

/// An entry of a layout's index.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Descriptor of the manifest or index.
    pub descriptor: Descriptor,
    /// Name of the entry, often a reference without `oci://`.
    pub name: Option<String>,
}

impl Layout {
    /// Opens the layout in `dir`, or creates one if the directory is missing or empty. What an interrupted
    /// creation left in it does not matter.
    pub fn create(dir: &Path) -> Result<Self, Cause> {
        let blobs = dir.join(BLOBS);
        let empty = RawManifest::write(&Index::default())?.bytes;
        if !is_new(dir, &empty)? {
            return match Self::open(dir) {
                Ok(layout) => fs::create_dir_all(&blobs).map_err(Cause::file(&blobs)).map(|()| layout),
                Err(Cause::Kind(_)) => Err(Cause::Kind(format!(
                    "directory `{}` has other files than a layout: choose an empty or new directory",
                    dir.display()
                ))),
                Err(cause) => Err(cause),
            };
        }
        fs::create_dir_all(&blobs).map_err(Cause::file(&blobs))?;
        let layout = Self { dir: dir.into() };
        // Another process that creates it may already list manifests.
        if !dir.join(INDEX).exists() {
            layout.replace(INDEX, &empty)?;
        }
        // Write the marker last, because it makes the directory a layout.
        layout.replace(MARK, MARK_TEXT.as_bytes())?;
        Ok(layout)
    }

    /// Opens the layout in `dir`.
    pub fn open(dir: &Path) -> Result<Self, Cause> {
        let layout = Self { dir: dir.into() };
        let text = match layout.small(MARK) {
            Ok(text) => text,
            Err(Cause::File { error, .. })
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Err(Cause::Kind(format!("`{}` is not an OCI layout: it has no file `{MARK}`", dir.display())));
            }
            Err(cause) => return Err(cause),
        };
        let mark: Mark = serde_json::from_slice(&text)
            .map_err(|error| Cause::Malformed(format!("failed to read `{MARK}` of the layout: {error}")))?;
        if !mark.image_layout_version.starts_with("1.") {
            let version = plumbline_core::text::excerpt(&mark.image_layout_version, 40);
            return Err(Cause::Kind(format!("unsupported layout version `{version}`: expected 1")));
        }
        Ok(layout)
    }

    /// Returns the directory of the layout.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the index of the layout.
    pub fn index(&self) -> Result<Index, Cause> {
        let bytes = self.small(INDEX)?;
        match RawManifest::parse(bytes.into(), Some(media::OCI_INDEX))?.manifest {
            Manifest::Index(index) => Ok(index),
            Manifest::Image(_) => Err(Cause::Malformed(format!("`{INDEX}` of the layout is not an index"))),
        }
    }

    /// Returns the entries that have a name or no subject. These are the artifacts that users
    /// stored, without signatures and other referrers.
    pub fn entries(&self) -> Result<Vec<Entry>, Cause> {
        let mut entries = Vec::new();
        for descriptor in self.index()?.manifests {
            let name = descriptor.annotations.get(media::REF_NAME).cloned();
            let belongs = name.is_none()
                && matches!(self.manifest(&descriptor)?.manifest, Manifest::Image(image) if image.subject.is_some());
            // Fallback tags with lists of referrers are not entries either.
            let bookkeeping = name.as_deref().is_some_and(|name| {
                name.strip_prefix("sha256-").is_some_and(|hex| format!("sha256:{hex}").parse::<Digest>().is_ok())
            });
            if !belongs && !bookkeeping {
                entries.push(Entry { descriptor, name });
            }
        }
        Ok(entries)
    }

    /// Returns the referrers of the manifest `subject`, from the index and from the list under the
    /// subject's fallback tag.
    pub fn referrers(&self, subject: Digest) -> Result<Vec<Descriptor>, Cause> {
        let tag = crate::client::fallback_tag(subject);
        let (mut found, mut seen): (Vec<Descriptor>, _) = (Vec::new(), HashSet::new());
        let mut waiting: Vec<(Descriptor, usize)> = self.index()?.manifests.into_iter().map(|one| (one, 0)).collect();
        while let Some((descriptor, depth)) = waiting.pop() {
            let tagged = descriptor.annotations.get(media::REF_NAME).is_some_and(|name| *name == tag);
            // Lists may repeat entries, and each other.
            if !seen.insert((descriptor.digest, tagged)) {
                continue;
            }
            match self.manifest(&descriptor)?.manifest {
                Manifest::Image(image) if image.subject.as_ref().is_some_and(|one| one.digest == subject) => {
                    found.push(descriptor);
                }
                Manifest::Index(index) if tagged && depth < MAX_DEPTH => {
                    waiting.extend(index.manifests.into_iter().map(|one| (one, depth + 1)));
                }
                _ => {}
            }
        }
        found.sort_by_key(|one| one.digest);
        found.dedup_by_key(|one| one.digest);
        Ok(found)
    }

    /// Returns a manifest, verified against its descriptor.
    pub fn manifest(&self, wanted: &Descriptor) -> Result<RawManifest, Cause> {
        let bytes = self.small(&blob_name(wanted.digest)).map_err(|cause| missing(cause, wanted.digest))?;
        let (size, got) = (bytes.len() as u64, Digest::of(&bytes));
        if got != wanted.digest {
            return Err(Cause::Mismatch { wanted: wanted.digest, got });
        }
        let manifest = RawManifest::parse(bytes.into(), Some(&wanted.media_type))?;
        wanted.verify(size, got)?;
        Ok(manifest)
    }

    /// Returns the path of a blob after verifying its size and digest. It reads the whole file.
    pub fn blob(&self, wanted: &Descriptor) -> Result<PathBuf, Cause> {
        let path = self.blob_path(wanted.digest);
        let file = self.file(&blob_name(wanted.digest)).map_err(|cause| missing(cause, wanted.digest))?;
        let mut writer = DigestWriter::new(io::sink());
        io::copy(&mut file.take(wanted.size.saturating_add(1)), &mut writer).map_err(Cause::file(&path))?;
        wanted.verify(writer.bytes(), writer.digest())?;
        Ok(path)
    }

    /// Returns whether there is a blob file of the right size. The digest is not verified.
    pub fn has(&self, wanted: &Descriptor) -> bool {
        fs::symlink_metadata(self.blob_path(wanted.digest))
            .is_ok_and(|there| there.is_file() && there.len() == wanted.size)
    }

    /// Removes incomplete files that killed writers left behind. Nobody else may be writing to the
    /// layout.
    pub fn sweep(&self) -> Result<(), Cause> {
        for dir in [self.dir.clone(), self.dir.join(BLOBS)] {
            for entry in fs::read_dir(&dir).map_err(Cause::file(&dir))? {
                let entry = entry.map_err(Cause::file(&dir))?;
                let unfinished = entry.file_name().to_str().is_some_and(|name| name.starts_with(UNFINISHED));
                if unfinished && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                    fs::remove_file(entry.path()).map_err(Cause::file(&entry.path()))?;
                }
            }
        }
        Ok(())
    }

    /// Copies a verified blob into the layout.
    pub fn put_blob(&self, what: &Descriptor, from: &Path) -> Result<(), Cause> {
        let blobs = self.dir.join(BLOBS);
        let mut file = unfinished(&blobs)?;
        let mut source = File::open(from).map_err(Cause::file(from))?;
        io::copy(&mut source, &mut file).map_err(Cause::file(&blobs))?;
        publish(file, &self.blob_path(what.digest))
    }

    /// Writes a manifest as a blob, without adding it to the index.
    pub fn put_manifest(&self, manifest: &RawManifest) -> Result<(), Cause> {
        self.replace(&blob_name(manifest.digest), &manifest.bytes)
    }

    /// Adds a manifest to the index. A name moves to the new manifest if it is already in use.
    /// Without a name, a manifest that is already listed is not added again.
    pub fn list(&self, mut descriptor: Descriptor, name: Option<&str>) -> Result<(), Cause> {
        let _alone = LISTING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut index = self.index()?;
        match name {
            Some(name) => {
                index.manifests.retain(|one| one.annotations.get(media::REF_NAME).is_none_or(|there| there != name));
                descriptor.annotations.insert(media::REF_NAME.into(), name.into());
            }
            None if index.manifests.iter().any(|one| one.digest == descriptor.digest) => return Ok(()),
            None => {
                descriptor.annotations.remove(media::REF_NAME);
            }
        }
        index.manifests.push(descriptor);
        self.replace(INDEX, &RawManifest::write(&index)?.bytes)
    }

    pub(super) fn blob_path(&self, digest: Digest) -> PathBuf {
        self.dir.join(blob_name(digest))
    }

    /// Opens a regular file. Other types are rejected, because a pipe could block and a link could
    /// lead anywhere.
    fn file(&self, name: &str) -> Result<File, Cause> {
        let path = self.dir.join(name);
        let there = fs::symlink_metadata(&path).map_err(Cause::file(&path))?;
        if !there.is_file() {
            return Err(Cause::Malformed(format!("`{name}` of the layout is not a regular file")));
        }
        File::open(&path).map_err(Cause::file(&path))
    }

    fn small(&self, name: &str) -> Result<Vec<u8>, Cause> {
        let mut bytes = Vec::new();
        let path = self.dir.join(name);
        self.file(name)?.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut bytes).map_err(Cause::file(&path))?;
        if bytes.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(Cause::Malformed(format!("`{name}` of the layout has more than {MAX_MANIFEST_BYTES} bytes")));
        }
        Ok(bytes)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Cause> {
        let mut file = unfinished(&self.dir)?;
        file.write_all(bytes).map_err(Cause::file(&self.dir))?;
        publish(file, &self.dir.join(name))
    }
}

/// Returns whether `dir` is missing, or has only what an interrupted [`Layout::create`] leaves. `index` is the
/// index without manifests.
fn is_new(dir: &Path, index: &[u8]) -> Result<bool, Cause> {
    let is_left = |name: &OsString| {
        let path = dir.join(name);
        match name.to_str() {
            Some("blobs") => {
                let digests = names(&dir.join(BLOBS));
                names(&path).is_ok_and(|all| all.iter().all(|name| name == "sha256"))
                    && digests.is_ok_and(|all| all.is_empty())
            }
            // Earlier versions did not write the marker atomically.
            Some(MARK) => fs::metadata(&path).is_ok_and(|there| there.is_file() && there.len() == 0),
            Some(INDEX) => is_file_with(&path, index),
            Some(name) => name.starts_with(UNFINISHED),
            None => false,
        }
    };
    let all = names(dir)?;
    // The directory of blobs is the first that is created.
    Ok(all.is_empty() || all.iter().any(|name| name == "blobs") && all.iter().all(is_left))
}

/// Returns the names in a directory. There are none if it does not exist.
fn names(dir: &Path) -> Result<Vec<OsString>, Cause> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Cause::file(dir))?,
    };
    entries.map(|entry| entry.map(|entry| entry.file_name()).map_err(Cause::file(dir))).collect()
}

fn is_file_with(path: &Path, content: &[u8]) -> bool {
    let has_size = fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() == content.len() as u64);
    has_size && fs::read(path).is_ok_and(|there| there == content)
}

/// Returns the path of a blob in a layout.
pub(super) fn blob_name(digest: Digest) -> String {
    format!("{BLOBS}/{}", digest.hex())
}

/// Creates a temporary file, which is renamed when it is complete.
pub(super) fn unfinished(dir: &Path) -> Result<NamedTempFile, Cause> {
    tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(dir).map_err(Cause::file(dir))
}

/// Moves a complete file to its final path. Temporary files are private to their owner, but the
/// result must be readable by everybody with access to the directory.
pub(super) fn publish(file: NamedTempFile, path: &Path) -> Result<(), Cause> {
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).map_err(Cause::file(path))?;
    file.persist(path).map(drop).map_err(|error| Cause::file(path)(error.error))
}

fn missing(cause: Cause, digest: Digest) -> Cause {
    match cause {
        Cause::File { error, .. } if error.kind() == ErrorKind::NotFound => {
            Cause::Malformed(format!("blob {digest} is missing from the layout"))
        }
        cause => cause,
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
