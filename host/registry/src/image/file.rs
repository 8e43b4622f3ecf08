//! One file out of an image: from the highest layer that has it, unless a layer above says that it is gone (OCI image specification,
//! "Layer Filesystem Changeset"). Layers are read as what they are: anybody's tar.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::{Archive, EntryType};
use tempfile::NamedTempFile;

use super::read::Image;
use crate::error::{Cause, RegistryError, Told};
use crate::limits::{MAX_EXTENSION_BYTES, MAX_FILE_BYTES, MAX_LAYER_BYTES, MAX_LAYER_ENTRIES, MAX_LINKS};

/// Hides one entry of the layers below.
const WHITEOUT: &str = ".wh.";
/// Hides all that the layers below have in a directory.
const OPAQUE: &str = ".wh..wh..opq";

/// A path in an image, in parts.
type Parts = Vec<String>;

/// What one layer says of a file.
#[derive(Debug)]
enum Said {
    /// Nothing: a layer below may have it.
    Nothing,
    /// It is this.
    Found(NamedTempFile),
    /// It is the same as another file of this layer, or one below.
    HardLink(Parts),
    /// It, or a directory above it, is a link to somewhere.
    Link(Parts),
    /// It is there, and no regular file.
    Other,
    /// It is not there, whatever the layers below have.
    Gone,
}

impl Image {
    /// The file at `path`, links followed, in a temporary file that goes away with what is returned. Layers are fetched from the highest on,
    /// as far as they are needed.
    ///
    /// # Errors
    ///
    /// There is none, it is no regular file or larger than is taken, or a layer cannot be had or read.
    pub async fn file(&self, path: &str) -> Result<NamedTempFile, RegistryError> {
        let what = || format!("take `{path}` out of image {}", self.raw().digest);
        let missing = || Cause::NotFound(Told::new("no layer has it")).of(what());
        let layers = &self.manifest.layers;
        let mut fetched: Vec<Option<crate::place::Fetched>> = layers.iter().map(|_| None).collect();
        let mut wanted = parts(path).ok_or_else(missing)?;
        // How many layers, from the lowest, may have it.
        let mut below = layers.len();
        let mut real = HashSet::new();
        for _ in 0..MAX_LINKS {
            let mut next = None;
            for at in (0..below).rev() {
                let (Some(layer), Some(slot)) = (layers.get(at), fetched.get_mut(at)) else { continue };
                if slot.is_none() {
                    *slot = Some(self.place.fetch(layer).await?);
                }
                let Some(there) = slot else { continue };
                let (file, scanned) = (there.path().to_owned(), wanted.clone());
                // Unpacking takes seconds: nothing for a thread that has connections to serve.
                let read = tokio::task::spawn_blocking(move || {
                    let said = look(&file, &scanned, &mut real);
                    (said, real)
                });
                let (said, dirs) = read.await.map_err(|error| Cause::Malformed(error.to_string()).of(what()))?;
                real = dirs;
                match said.map_err(|cause| cause.of(format!("{}: layer {}", what(), layer.digest)))? {
                    Said::Nothing => {}
                    Said::Found(file) => return Ok(file),
                    // Its name may be gone in a layer above, and the content still is this file's.
                    Said::HardLink(to) => next = Some((to, at + 1)),
                    Said::Link(to) => next = Some((to, layers.len())),
                    Said::Other => return Err(Cause::Kind("it is not a regular file".into()).of(what())),
                    Said::Gone => return Err(missing()),
                }
                if next.is_some() {
                    break;
                }
            }
            let Some((to, from)) = next else { return Err(missing()) };
            (wanted, below) = (to, from);
            real = HashSet::new();
        }
        Err(Cause::Malformed(format!("more than {MAX_LINKS} links lead to it")).of(what()))
    }
}

/// The parts of a path from the root. `None`: it names nothing, or something outside.
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

/// Where a link in the directory `dir` leads to. Above the root there is the root.
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

/// What stands before an entry and belongs to it.
#[derive(Default)]
struct Pending {
    name: Option<String>,
    link: Option<String>,
}

/// Reads one layer. `real` holds the directories above the file that layers above this one have: a link of their name is hidden by them.
fn look(layer: &Path, wanted: &[String], real: &mut HashSet<usize>) -> Result<Said, Cause> {
    let broken = |error: io::Error| Cause::Malformed(format!("it is not a readable tar: {error}"));
    let mut archive = Archive::new(unpacked(layer)?.take(MAX_LAYER_BYTES));
    let (mut said, mut hidden, mut link) = (Said::Nothing, false, None);
    let mut dirs = HashSet::new();
    let mut pending = Pending::default();
    // Raw: names of any length are not read into memory before they are looked at.
    for (count, entry) in archive.entries().map_err(broken)?.raw(true).enumerate() {
        let mut entry = entry.map_err(broken)?;
        if count >= MAX_LAYER_ENTRIES {
            return Err(Cause::Malformed(format!("it has more than {MAX_LAYER_ENTRIES} entries")));
        }
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName => {
                pending.name = Some(text(&mut entry)?);
                continue;
            }
            EntryType::GNULongLink => {
                pending.link = Some(text(&mut entry)?);
                continue;
            }
            EntryType::XHeader => {
                fields(&text(&mut entry)?, &mut pending)?;
                continue;
            }
            EntryType::XGlobalHeader => continue,
            EntryType::GNUSparse => return Err(Cause::Malformed("it has a sparse file, which is not read".into())),
            _ => {}
        }
        let Pending { name, link: long_link } = std::mem::take(&mut pending);
        let Some(name) = name.or_else(|| String::from_utf8(entry.path_bytes().into_owned()).ok()) else { continue };
        let Some(name) = parts(&name) else { continue };
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
            // Of two entries of one name the later counts.
            said = match kind {
                EntryType::Regular | EntryType::Continuous => Said::Found(copied(&mut entry)?),
                EntryType::Link => Said::HardLink(resolved(&[], &target(), &[])),
                EntryType::Symlink => Said::Link(resolved(dir, &target(), &[])),
                _ => Said::Other,
            };
        } else if kind == EntryType::Directory {
            dirs.insert(name.len());
            link = link.filter(|(depth, _)| *depth != name.len());
        } else if kind == EntryType::Symlink && !real.contains(&name.len()) {
            link = Some((name.len(), resolved(dir, &target(), rest)));
        } else {
            // A file, or a link that a directory above covers: what lower layers have below it is not seen.
            hidden = true;
        }
    }
    real.extend(dirs);
    Ok(match (said, link, hidden) {
        (Said::Nothing, Some((_, to)), _) => Said::Link(to),
        (Said::Nothing, None, true) => Said::Gone,
        (said, _, _) => said,
    })
}

/// Whether an entry says that the file is gone from the layers below.
fn is_hidden(name: &[String], wanted: &[String]) -> bool {
    let Some((last, dir)) = name.split_last() else { return false };
    if last == OPAQUE {
        return wanted.len() > dir.len() && wanted.starts_with(dir);
    }
    let Some(gone) = last.strip_prefix(WHITEOUT) else { return false };
    wanted.starts_with(dir) && wanted.get(dir.len()).is_some_and(|part| part == gone)
}

/// The layer without its compression.
fn unpacked(layer: &Path) -> Result<Box<dyn Read>, Cause> {
    let mut file = BufReader::with_capacity(256 << 10, File::open(layer).map_err(Cause::file(layer))?);
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic).map_err(Cause::file(layer))?;
    file.rewind().map_err(Cause::file(layer))?;
    match magic.as_slice() {
        [0x1f, 0x8b, ..] => Ok(Box::new(MultiGzDecoder::new(file))),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            Err(Cause::Kind("it is compressed with zstd, which is not read here: gzip is, and no compression".into()))
        }
        _ => Ok(Box::new(file)),
    }
}

/// A short content of an entry, up to its first NUL.
fn text(entry: &mut impl Read) -> Result<String, Cause> {
    let wrong = |why: &str| Cause::Malformed(format!("a header of its tar {why}"));
    let mut bytes = Vec::new();
    entry.take(MAX_EXTENSION_BYTES + 1).read_to_end(&mut bytes).map_err(|error| wrong(&error.to_string()))?;
    if bytes.len() as u64 > MAX_EXTENSION_BYTES {
        return Err(wrong("is larger than is taken"));
    }
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    // What is no text names no file that is looked for.
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// Further fields of the next entry: `LENGTH KEY=VALUE` and a line feed (POSIX, pax).
fn fields(text: &str, pending: &mut Pending) -> Result<(), Cause> {
    let mut rest = text;
    while !rest.is_empty() {
        let wrong = || Cause::Malformed("a header of its tar has fields that are none".into());
        let (length, _) = rest.split_once(' ').ok_or_else(wrong)?;
        let digits = length.len();
        let length: usize = length.parse().map_err(|_| wrong())?;
        let field = rest.get(digits + 1..length.checked_sub(1).ok_or_else(wrong)?).ok_or_else(wrong)?;
        rest = rest.get(length..).ok_or_else(wrong)?;
        match field.split_once('=') {
            Some(("path", value)) => pending.name = Some(value.to_owned()),
            Some(("linkpath", value)) => pending.link = Some(value.to_owned()),
            // Only of files of 8 GiB and more, or to make two readers see two archives.
            Some(("size", _)) => return Err(Cause::Malformed("an entry has two sizes, which is not read".into())),
            Some((key, _)) if key.starts_with("GNU.sparse") => {
                return Err(Cause::Malformed("it has a sparse file, which is not read".into()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn copied(entry: &mut tar::Entry<'_, impl Read>) -> Result<NamedTempFile, Cause> {
    let size = entry.header().size().map_err(|error| Cause::Malformed(error.to_string()))?;
    if size > MAX_FILE_BYTES {
        return Err(Cause::TooLarge { limit: MAX_FILE_BYTES });
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
