//! A tree of files that is written as a reproducible tar archive.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use crate::error::Error;

/// One entry. All belong to root and have no time.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Directory { mode: u32 },
    File { mode: u32, bytes: Vec<u8> },
    Link { target: String },
}

/// Files by path, without a leading slash. The map gives them a fixed order, in which directories
/// precede their contents.
pub(crate) type Tree = BTreeMap<String, Node>;

/// Adds a file, and the directories that contain it.
pub(crate) fn add_file(tree: &mut Tree, path: &str, mode: u32, bytes: &[u8]) {
    for (at, _) in path.match_indices('/') {
        tree.insert(path.get(..at).unwrap_or_default().to_owned(), Node::Directory { mode: 0o755 });
    }
    tree.insert(path.to_owned(), Node::File { mode, bytes: bytes.to_vec() });
}

/// Returns the size of all files in bytes.
pub(crate) fn size(tree: &Tree) -> u64 {
    let size = |node: &Node| if let Node::File { bytes, .. } = node { bytes.len() as u64 } else { 0 };
    tree.values().map(size).sum()
}

/// Returns the tree as a compressed tar archive.
pub(crate) fn compress(tree: &Tree) -> Result<Vec<u8>, Error> {
    let mut tar = Vec::new();
    write(tree, &mut tar).map_err(|error| Error::unexpected(format!("failed to pack an archive: {error}")))?;
    gzip(&tar)
}

/// Compresses a file. The header has neither a time nor a name, so the same bytes give the same
/// bytes.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    let failed = |error| Error::unexpected(format!("failed to compress: {error}"));
    out.write_all(bytes).map_err(failed)?;
    out.finish().map_err(failed)
}

/// Writes the tree as a tar archive.
pub(crate) fn write(tree: &Tree, out: impl io::Write) -> io::Result<()> {
    let mut tar = Builder::new(out);
    for (path, node) in tree {
        let mut header = Header::new_ustar();
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(0);
        match node {
            Node::Directory { mode } => {
                header.set_entry_type(EntryType::Directory);
                header.set_mode(*mode);
                tar.append_data(&mut header, format!("{path}/"), io::empty())?;
            }
            Node::File { mode, bytes } => {
                header.set_entry_type(EntryType::Regular);
                header.set_mode(*mode);
                header.set_size(bytes.len() as u64);
                tar.append_data(&mut header, path, bytes.as_slice())?;
            }
            Node::Link { target } => {
                header.set_entry_type(EntryType::Symlink);
                header.set_mode(0o777);
                tar.append_link(&mut header, path, target)?;
            }
        }
    }
    tar.into_inner()?.flush()
}
