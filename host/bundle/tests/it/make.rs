//! Helpers that create bundles and tars.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plumbline_bundle::Bundle;
use tempfile::TempDir;

/// A definition that executes `./check.sh`.
pub(crate) const DEFINITION: &str =
    "sonobuoy-config: {driver: Process, plugin-name: sample, result-format: sample}\nspec: {command: [./check.sh]}\n";

/// A component that does nothing.
pub(crate) fn component() -> Vec<u8> {
    wat::parse_str("(component)").unwrap()
}

/// A directory for one test.
pub(crate) struct Bed(TempDir);

impl Bed {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes the bundle `sample` to `dir` and returns its path.
    pub(crate) fn sample(&self, dir: &str) -> PathBuf {
        for (name, content) in sample() {
            let path = self.write(&format!("{dir}/{name}"), content);
            if name == "check.sh" {
                executable(&path, 0o755);
            }
        }
        self.path(dir)
    }

    /// Returns all paths in the directory, sorted. Directories end in `/`.
    pub(crate) fn tree(&self) -> Vec<String> {
        fn walk(root: &Path, dir: &Path, into: &mut Vec<String>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(root).unwrap().display().to_string();
                if path.is_dir() && !path.is_symlink() {
                    into.push(format!("{name}/"));
                    walk(root, &path, into);
                } else {
                    into.push(name);
                }
            }
        }
        let mut names = Vec::new();
        walk(self.0.path(), self.0.path(), &mut names);
        names.sort();
        names
    }
}

/// Returns the files of `sample`.
pub(crate) fn sample() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("plugin.yaml", DEFINITION.into()),
        ("check.sh", b"#!/bin/sh\necho ok\n".to_vec()),
        ("sample.wasm", component()),
        ("README.md", b"A sample.\n".to_vec()),
        ("tests/one/results/global/out.xml", b"<x/>\n".to_vec()),
        ("tests/one/expected.yaml", b"name: sample\n".to_vec()),
    ]
}

pub(crate) fn executable(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns the tar of the bundle in `dir`.
pub(crate) fn tar_of(dir: &Path) -> Vec<u8> {
    let mut tar = Vec::new();
    Bundle::open(dir).unwrap().pack(&mut tar).unwrap();
    tar
}

/// One entry of a tar with arbitrary fields.
pub(crate) struct Raw {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: u8,
    pub(crate) mode: &'static [u8; 8],
    pub(crate) size: [u8; 12],
    pub(crate) link: &'static str,
    pub(crate) content: Vec<u8>,
}

impl Raw {
    /// Returns a file as a bundle has it.
    pub(crate) fn file(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref().to_vec();
        let size = octal(content.len() as u64);
        Self { name: name.as_ref().to_vec(), kind: b'0', mode: b"0000644\0", size, link: "", content }
    }

    pub(crate) fn of_kind(name: impl AsRef<[u8]>, kind: u8) -> Self {
        Self { kind, ..Self::file(name, "") }
    }

    pub(crate) fn linked(self, link: &'static str) -> Self {
        Self { link, ..self }
    }

    /// Sets a size in the header that differs from the size of the content.
    pub(crate) fn announcing(self, size: u64) -> Self {
        Self { size: octal(size), ..self }
    }

    fn write(&self, into: &mut Vec<u8>) {
        let mut block = [0u8; 512];
        block[..self.name.len()].copy_from_slice(&self.name);
        block[100..108].copy_from_slice(self.mode);
        block[108..116].copy_from_slice(b"0000000\0");
        block[116..124].copy_from_slice(b"0000000\0");
        block[124..136].copy_from_slice(&self.size);
        block[136..148].copy_from_slice(b"00000000000\0");
        block[156] = self.kind;
        block[157..157 + self.link.len()].copy_from_slice(self.link.as_bytes());
        block[257..265].copy_from_slice(b"ustar\x0000");
        block[329..337].copy_from_slice(b"0000000\0");
        block[337..345].copy_from_slice(b"0000000\0");
        seal(&mut block);
        into.extend(block);
        into.extend(&self.content);
        into.resize(into.len().next_multiple_of(512), 0);
    }
}

/// Writes the checksum of a header.
pub(crate) fn seal(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block[..512].iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn octal(size: u64) -> [u8; 12] {
    format!("{size:011o}\0").into_bytes().try_into().unwrap()
}

/// Returns a tar of these entries, with its end.
pub(crate) fn tar(entries: &[Raw]) -> Vec<u8> {
    let mut tar = Vec::new();
    entries.iter().for_each(|entry| entry.write(&mut tar));
    tar.extend([0; 1024]);
    tar
}
