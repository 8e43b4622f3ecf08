//! A tree of files that is written as a reproducible tar archive.

use std::collections::BTreeMap;
use std::io;

use tar::{Builder, EntryType, Header};

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
