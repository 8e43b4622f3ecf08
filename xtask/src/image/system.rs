//! The files of the image other than the binary.

use std::fs;

use super::tree::{Node, Tree};
use crate::program::DEV;

/// The CA certificates that this machine trusts. The image gets them if they exist. The CA of a
/// cluster's API server is configured separately.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// The home directory is the one directory that any user may write to. Compiled modules are cached
/// there.
const PASSWD: &str = "root:x:0:0:root:/root:/sbin/nologin\n\
                      nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n\
                      nonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nnogroup:x:65534:\nnonroot:x:65532:\n";
/// The order of name lookups. Without this file, the C library uses its own default.
const NSSWITCH: &str = "passwd: files\ngroup: files\nhosts: files dns\n";

/// Returns the layer that rarely changes.
pub(crate) fn files() -> Tree {
    with_authorities(fs::read(AUTHORITIES).ok())
}

fn with_authorities(authorities: Option<Vec<u8>>) -> Tree {
    let text = |text: &str| Node::File { mode: 0o644, bytes: text.as_bytes().to_vec() };
    let mut tree = Tree::from([
        ("etc".to_owned(), Node::Directory { mode: 0o755 }),
        ("etc/group".to_owned(), text(GROUP)),
        ("etc/nsswitch.conf".to_owned(), text(NSSWITCH)),
        ("etc/passwd".to_owned(), text(PASSWD)),
        ("tmp".to_owned(), Node::Directory { mode: 0o1777 }),
    ]);
    if let Some(bytes) = authorities {
        tree.insert("etc/ssl".to_owned(), Node::Directory { mode: 0o755 });
        tree.insert("etc/ssl/certs".to_owned(), Node::Directory { mode: 0o755 });
        tree.insert(AUTHORITIES.trim_start_matches('/').to_owned(), Node::File { mode: 0o644, bytes });
    }
    tree
}

/// Returns the layer with the binary. It has the path and name with which other tools call
/// Sonobuoy; our name is a link to it.
pub(crate) fn program(bytes: Vec<u8>) -> Tree {
    Tree::from([
        ("plumbline".to_owned(), Node::Link { target: "sonobuoy".to_owned() }),
        ("sonobuoy".to_owned(), Node::File { mode: 0o755, bytes }),
    ])
}

/// Returns the layer with the binary for the end-to-end tests.
pub(crate) fn dev_program(bytes: Vec<u8>) -> Tree {
    Tree::from([(DEV.to_owned(), Node::File { mode: 0o755, bytes })])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_there_if_this_machine_has_some() {
        assert!(!with_authorities(None).contains_key("etc/ssl"));
        let tree = with_authorities(Some(b"PEM".to_vec()));
        assert!(tree.contains_key("etc/ssl/certs/ca-certificates.crt") && tree.contains_key("etc/ssl/certs"));
    }
}
