//! Helpers that build archives byte by byte and list directories.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use plumbline_archive::extract::{ExtractError, ExtractLimits, Extracted, extract_tar_gz};
use tempfile::TempDir;

pub(crate) const FILE: u8 = b'0';
pub(crate) const HARD_LINK: u8 = b'1';
pub(crate) const SYMLINK: u8 = b'2';
pub(crate) const CHAR_DEVICE: u8 = b'3';
pub(crate) const BLOCK_DEVICE: u8 = b'4';
pub(crate) const DIR: u8 = b'5';
pub(crate) const FIFO: u8 = b'6';
pub(crate) const GNU_LONG_NAME: u8 = b'L';
pub(crate) const GNU_SPARSE: u8 = b'S';
pub(crate) const PAX: u8 = b'x';
pub(crate) const PAX_GLOBAL: u8 = b'g';

/// A tar stream with arbitrary content, valid or not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tar(pub(crate) Vec<u8>);

impl Tar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Appends a header with the given size field, and nothing after it.
    pub(crate) fn header(mut self, name: &[u8], kind: u8, size: u64, link: &[u8]) -> Self {
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link);
        header.as_mut_bytes()[156] = kind;
        header.set_mode(0o644);
        header.set_size(size);
        header.set_mtime(1_600_000_000);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self
    }

    /// Appends content, padded to whole blocks.
    pub(crate) fn content(mut self, data: &[u8]) -> Self {
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn member(self, name: &[u8], kind: u8, data: &[u8]) -> Self {
        self.header(name, kind, data.len() as u64, b"").content(data)
    }

    pub(crate) fn file(self, name: &str, data: &[u8]) -> Self {
        self.member(name.as_bytes(), FILE, data)
    }

    pub(crate) fn dir(self, name: &str) -> Self {
        self.member(name.as_bytes(), DIR, b"")
    }

    pub(crate) fn link(self, name: &str, kind: u8, to: &str) -> Self {
        self.header(name.as_bytes(), kind, 0, to.as_bytes())
    }

    /// Appends a sparse file in GNU format: `data`, followed by a hole a hundred times as long.
    pub(crate) fn gnu_sparse(mut self, name: &[u8], data: &[u8]) -> Self {
        let at = self.0.len();
        self = self.header(name, GNU_SPARSE, data.len() as u64, b"");
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes().copy_from_slice(&self.0[at..]);
        let mut field = |from: usize, number: usize| {
            header.as_mut_bytes()[from..from + 12].copy_from_slice(format!("{number:011o}\0").as_bytes());
        };
        // Two segments: the data, and an empty one at the end of the hole.
        for (from, number) in [(386, 0), (398, data.len()), (410, data.len() * 100), (422, 0), (483, data.len() * 100)]
        {
            field(from, number);
        }
        header.set_cksum();
        self.0[at..].copy_from_slice(header.as_bytes());
        self.content(data)
    }

    /// Appends an extended header for the next member.
    pub(crate) fn pax(self, records: &[(&str, &str)]) -> Self {
        self.extended(PAX, records)
    }

    pub(crate) fn extended(self, kind: u8, records: &[(&str, &str)]) -> Self {
        let mut text = String::new();
        for (key, value) in records {
            // The length includes its own digits.
            let rest = key.len() + value.len() + 3;
            let length = (1..).map(|digits| rest + digits).find(|n| n.to_string().len() + rest == *n).unwrap();
            text.push_str(&format!("{length} {key}={value}\n"));
        }
        self.member(b"././@PaxHeader", kind, text.as_bytes())
    }

    /// Appends the name of the next member in GNU format.
    pub(crate) fn long_name(self, name: &[u8]) -> Self {
        self.member(b"././@LongLink", GNU_LONG_NAME, &[name, b"\0"].concat())
    }

    /// Appends the end marker: two blocks of zeros.
    pub(crate) fn end(mut self) -> Self {
        self.0.resize(self.0.len() + 1024, 0);
        self
    }

    pub(crate) fn gz(self) -> Vec<u8> {
        gz(&self.end().0)
    }
}

pub(crate) fn gz(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A directory to unpack into, inside another directory in which nothing else may appear.
pub(crate) struct Destination {
    outside: TempDir,
}

impl Destination {
    pub(crate) fn new() -> Self {
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir(outside.path().join("dest")).unwrap();
        fs::write(outside.path().join("secret"), "untouched").unwrap();
        Self { outside }
    }

    pub(crate) fn dest(&self) -> std::path::PathBuf {
        self.outside.path().join("dest")
    }

    pub(crate) fn outside(&self) -> &Path {
        self.outside.path()
    }

    pub(crate) fn extract(&self, archive: &[u8], limits: &ExtractLimits) -> Result<Extracted, ExtractError> {
        let result = extract_tar_gz(archive, &self.dest(), limits);
        let mut entries: Vec<_> =
            fs::read_dir(self.outside()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        entries.sort();
        assert_eq!(entries, ["dest", "secret"], "something was written next to the destination");
        assert_eq!(fs::read_to_string(self.outside().join("secret")).unwrap(), "untouched");
        result
    }
}

/// Unpacks into a temporary directory with the default limits.
pub(crate) fn extract(archive: &[u8]) -> Result<(Extracted, Tree), ExtractError> {
    let place = Destination::new();
    let extracted = place.extract(archive, &ExtractLimits::default())?;
    Ok((extracted, tree(&place.dest())))
}

/// The content of a directory by name: bytes of files, and `None` for directories.
pub(crate) type Tree = BTreeMap<String, Option<Vec<u8>>>;

pub(crate) fn tree(dir: &Path) -> Tree {
    let mut tree = Tree::new();
    gather(dir, "", &mut tree);
    tree
}

fn gather(dir: &Path, prefix: &str, tree: &mut Tree) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().into_string().unwrap());
        let file_type = entry.file_type().unwrap();
        if file_type.is_dir() {
            gather(&entry.path(), &format!("{name}/"), tree);
            tree.insert(name, None);
        } else {
            assert!(file_type.is_file(), "`{name}` is neither file nor directory");
            tree.insert(name, Some(fs::read(entry.path()).unwrap()));
        }
    }
}

pub(crate) fn files(tree: &Tree) -> Vec<(&str, &str)> {
    let files = tree.iter().filter_map(|(name, data)| Some((name.as_str(), data.as_ref()?)));
    files.map(|(name, data)| (name, str::from_utf8(data).unwrap())).collect()
}

pub(crate) fn write_tree(dir: &Path, tree: &Tree) {
    for (name, data) in tree {
        let path = dir.join(name);
        match data {
            None => fs::create_dir_all(path).unwrap(),
            Some(data) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, data).unwrap();
            }
        }
    }
}
