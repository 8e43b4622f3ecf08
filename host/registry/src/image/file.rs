//! Extraction of one file from an image. The highest layer that has the file applies, unless a
//! layer above deletes it (OCI image specification, "Layer Filesystem Changeset"). Layers are
//! untrusted tars.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};
use tempfile::NamedTempFile;

use super::Image;
use crate::error::{Cause, RegistryError, server_message};
use crate::limits::{
    MAX_EXTENSION_BYTES, MAX_FILE_BYTES, MAX_IMAGE_BYTES, MAX_LAYER_BYTES, MAX_LAYER_ENTRIES, MAX_LINKS,
    MAX_SEARCHED_BYTES,
};
use crate::storage::Fetched;

/// Prefix of a whiteout, which deletes one entry of the layers below.
const WHITEOUT: &str = ".wh.";
/// Opaque whiteout, which hides everything that the layers below have in a directory.
pub(super) const OPAQUE: &str = ".wh..wh..opq";

type Parts = Vec<String>;

/// What one layer contains for a path.
#[derive(Debug)]
enum LayerEntry {
    /// No entry. A layer below may have the file.
    Nothing,
    Found(NamedTempFile),
    /// A hard link to another file of this layer or a layer below.
    HardLink(Parts),
    /// The path or an ancestor is a symbolic link to this path.
    Link(Parts),
    Other,
    /// The path is deleted or hidden, whatever the layers below contain.
    Gone,
}

impl Image {
    /// Extracts the file at `path` to a temporary file, which is deleted when the result is
    /// dropped. Links are followed. Layers are fetched from the highest one down, as far as needed.
    pub async fn file(&self, path: &str) -> Result<NamedTempFile, RegistryError> {
        let what = || format!("extract `{path}` from image {}", self.raw().digest);
        let missing = || Cause::NotFound(server_message("no layer has this file")).of(what());
        let layers = &self.manifest.layers;
        if layers.iter().fold(0, |sum: u64, layer| sum.saturating_add(layer.size)) > MAX_IMAGE_BYTES {
            return Err(Cause::TooLarge(MAX_IMAGE_BYTES).of(what()));
        }
        let mut fetched: Vec<Option<Fetched>> = layers.iter().map(|_| None).collect();
        let mut wanted = parts(path).ok_or_else(missing)?;
        // Number of layers, from the lowest one, that may have the file.
        let mut below = layers.len();
        let (mut real, mut left) = (HashSet::new(), MAX_SEARCHED_BYTES);
        for _ in 0..MAX_LINKS {
            let mut next = None;
            for at in (0..below).rev() {
                let (Some(layer), Some(slot)) = (layers.get(at), fetched.get_mut(at)) else { continue };
                if slot.is_none() {
                    *slot = Some(self.storage.fetch(layer).await?);
                }
                let Some(there) = slot else { continue };
                let (file, scanned) = (there.path().to_owned(), wanted.clone());
                // Decompression takes seconds, so it must not block a thread of the async runtime.
                let read = tokio::task::spawn_blocking(move || {
                    let found = search(&file, &scanned, &mut real, &mut left);
                    (found, real, left)
                });
                let (found, dirs, rest) = read.await.map_err(|error| Cause::Malformed(error.to_string()).of(what()))?;
                (real, left) = (dirs, rest);
                match found.map_err(|cause| cause.of(format!("{}: layer {}", what(), layer.digest)))? {
                    LayerEntry::Nothing => {}
                    LayerEntry::Found(file) => return Ok(file),
                    // A layer above may delete the target's name, but the content still belongs to
                    // this file.
                    LayerEntry::HardLink(to) => next = Some((to, at + 1)),
                    LayerEntry::Link(to) => next = Some((to, layers.len())),
                    LayerEntry::Other => return Err(Cause::Kind("it is not a regular file".into()).of(what())),
                    LayerEntry::Gone => return Err(missing()),
                }
                if next.is_some() {
                    break;
                }
            }
            let Some((to, from)) = next else { return Err(missing()) };
            (wanted, below) = (to, from);
            real = HashSet::new();
        }
        Err(Cause::Malformed(format!("it is behind more than {MAX_LINKS} links")).of(what()))
    }
}

/// Splits a path into components from the root. `None` if it is empty or contains `..`.
fn parts(path: &str) -> Option<Parts> {
    let mut found = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part => found.push(part.to_owned()),
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Resolves a link in the directory `dir`. The parent of the root is the root.
fn resolved(dir: &[String], target: &str, rest: &[String]) -> Parts {
    let mut found: Parts = if target.starts_with('/') { Vec::new() } else { dir.to_vec() };
    for part in target.split('/').map(str::to_owned).chain(rest.iter().cloned()) {
        match part.as_str() {
            "" | "." => {}
            ".." => drop(found.pop()),
            _ => found.push(part),
        }
    }
    found
}

/// Extended headers that apply to the next entry.
#[derive(Default)]
struct Pending {
    name: Option<String>,
    link: Option<String>,
}

impl Pending {
    /// Reads an entry that only extends the header of the next one. Returns whether it was such an
    /// entry.
    fn read(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<bool, Cause> {
        match entry.header().entry_type() {
            EntryType::GNULongName => self.name = Some(text(entry)?),
            EntryType::GNULongLink => self.link = Some(text(entry)?),
            EntryType::XHeader => fields(&text(entry)?, self)?,
            EntryType::XGlobalHeader => {}
            EntryType::GNUSparse => {
                return Err(Cause::Malformed("it has a sparse file, which is not supported".into()));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Searches one layer for a path. `real` holds the depths of ancestors that are directories in
/// layers above. They hide a link at the same depth. `left` is the number of uncompressed bytes that
/// this and later searches may read.
fn search(layer: &Path, wanted: &[String], real: &mut HashSet<usize>, left: &mut u64) -> Result<LayerEntry, Cause> {
    let limit = MAX_LAYER_BYTES.min(*left);
    let mut archive = Archive::new(decompressed(layer)?.take(limit));
    let found = search_entries(&mut archive, wanted, real);
    let unread = archive.into_inner().limit();
    *left -= limit - unread;
    // Where the limit cuts a tar, it may look damaged, or complete.
    match unread {
        0 if limit < MAX_LAYER_BYTES => Err(Cause::TooLarge(MAX_SEARCHED_BYTES)),
        0 => Err(Cause::TooLarge(MAX_LAYER_BYTES)),
        _ => found,
    }
}

fn search_entries(
    archive: &mut Archive<impl Read>,
    wanted: &[String],
    real: &mut HashSet<usize>,
) -> Result<LayerEntry, Cause> {
    let broken = |error: io::Error| Cause::Malformed(format!("it is not a readable tar: {error}"));
    let (mut found, mut hidden, mut link) = (LayerEntry::Nothing, false, None);
    let mut dirs = HashSet::new();
    let mut pending = Pending::default();
    // Raw mode does not read names of arbitrary length to memory.
    for (count, entry) in archive.entries().map_err(broken)?.raw(true).enumerate() {
        let mut entry = entry.map_err(broken)?;
        if count >= MAX_LAYER_ENTRIES {
            return Err(Cause::Malformed(format!("it has more than {MAX_LAYER_ENTRIES} entries")));
        }
        if pending.read(&mut entry)? {
            continue;
        }
        let kind = entry.header().entry_type();
        let Pending { name, link: long_link } = std::mem::take(&mut pending);
        let name = name.or_else(|| String::from_utf8(entry.path_bytes().into_owned()).ok());
        let Some(name) = name.as_deref().and_then(parts) else { continue };
        if is_hidden(&name, wanted) {
            hidden = true;
            continue;
        }
        let Some(rest) = wanted.strip_prefix(name.as_slice()) else { continue };
        let target = || {
            long_link
                .clone()
                .or_else(|| String::from_utf8(entry.link_name_bytes()?.into_owned()).ok())
                .unwrap_or_default()
        };
        let dir = name.split_last().map_or(&[][..], |(_, dir)| dir);
        if rest.is_empty() {
            // Of two entries with the same name, the later one applies.
            found = match kind {
                EntryType::Regular | EntryType::Continuous => LayerEntry::Found(extract(&mut entry)?),
                EntryType::Link => LayerEntry::HardLink(resolved(&[], &target(), &[])),
                EntryType::Symlink => LayerEntry::Link(resolved(dir, &target(), &[])),
                _ => LayerEntry::Other,
            };
        } else if kind == EntryType::Directory {
            dirs.insert(name.len());
            link = link.filter(|(depth, _)| *depth != name.len());
        } else if kind == EntryType::Symlink && !real.contains(&name.len()) {
            link = Some((name.len(), resolved(dir, &target(), rest)));
        } else {
            // A file, or a link that a directory above hides: entries of lower layers below it are
            // not visible.
            hidden = true;
        }
    }
    real.extend(dirs);
    Ok(match (found, link, hidden) {
        (LayerEntry::Nothing, Some((_, to)), _) => LayerEntry::Link(to),
        (LayerEntry::Nothing, None, true) => LayerEntry::Gone,
        (found, _, _) => found,
    })
}

/// Returns whether an entry deletes the path from the layers below.
fn is_hidden(name: &[String], wanted: &[String]) -> bool {
    let Some((last, dir)) = name.split_last() else { return false };
    if last == OPAQUE {
        return wanted.len() > dir.len() && wanted.starts_with(dir);
    }
    let Some(gone) = last.strip_prefix(WHITEOUT) else { return false };
    wanted.starts_with(dir) && wanted.get(dir.len()).is_some_and(|part| part == gone)
}

fn decompressed(layer: &Path) -> Result<Box<dyn Read>, Cause> {
    let mut file = BufReader::with_capacity(256 << 10, File::open(layer).map_err(Cause::file(layer))?);
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic).map_err(Cause::file(layer))?;
    file.rewind().map_err(Cause::file(layer))?;
    match magic.as_slice() {
        [0x1f, 0x8b, ..] => Ok(Box::new(MultiGzDecoder::new(file))),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            Err(Cause::Kind("it is compressed with zstd, which is not supported: use gzip or no compression".into()))
        }
        _ => Ok(Box::new(file)),
    }
}

/// Reads the short content of an entry, up to its first NUL.
fn text(entry: &mut impl Read) -> Result<String, Cause> {
    let wrong = |why: &str| Cause::Malformed(format!("a header of its tar {why}"));
    let mut bytes = Vec::new();
    entry.take(MAX_EXTENSION_BYTES + 1).read_to_end(&mut bytes).map_err(|error| wrong(&error.to_string()))?;
    if bytes.len() as u64 > MAX_EXTENSION_BYTES {
        return Err(wrong("is too large"));
    }
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    // A name that is not UTF-8 cannot be the wanted file.
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// Parses pax records for the next entry: `LENGTH KEY=VALUE` and a line feed (POSIX).
fn fields(text: &str, pending: &mut Pending) -> Result<(), Cause> {
    let mut rest = text;
    while !rest.is_empty() {
        let wrong = || Cause::Malformed("a header of its tar has invalid fields".into());
        let (length, _) = rest.split_once(' ').ok_or_else(wrong)?;
        let digits = length.len();
        let length: usize = length.parse().map_err(|_| wrong())?;
        let field = rest.get(digits + 1..length.checked_sub(1).ok_or_else(wrong)?).ok_or_else(wrong)?;
        rest = rest.get(length..).ok_or_else(wrong)?;
        match field.split_once('=') {
            Some(("path", value)) => pending.name = Some(value.to_owned()),
            Some(("linkpath", value)) => pending.link = Some(value.to_owned()),
            // Legitimate only for files of 8 GiB and more. Otherwise its purpose is to make two
            // readers see different archives.
            Some(("size", _)) => return Err(Cause::Malformed("an entry has two sizes".into())),
            Some((key, _)) if key.starts_with("GNU.sparse") => {
                return Err(Cause::Malformed("it has a sparse file, which is not supported".into()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn extract(entry: &mut Entry<'_, impl Read>) -> Result<NamedTempFile, Cause> {
    let size = entry.header().size().map_err(|error| Cause::Malformed(error.to_string()))?;
    if size > MAX_FILE_BYTES {
        return Err(Cause::TooLarge(MAX_FILE_BYTES));
    }
    let scratch: PathBuf = std::env::temp_dir();
    let mut file = NamedTempFile::new().map_err(Cause::file(&scratch))?;
    let written = io::copy(entry, &mut file).map_err(Cause::file(&scratch))?;
    if written != size {
        return Err(Cause::Malformed("it ends in the middle of the file".into()));
    }
    file.flush().and_then(|()| file.rewind()).map_err(Cause::file(&scratch))?;
    Ok(file)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
