//! The index of the files in an archive.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::{Bound, ControlFlow};

use cap_std::fs::Dir;

use super::error::PassError;
use super::limits::ReadLimits;
use crate::member::{Kind, MemberName, NameFault, each_member};
use crate::walk::{WalkEntry, walk};

/// The first bytes of a file in which macOS keeps attributes of another file (AppleSingle and
/// AppleDouble formats, version 2). Archives packed on macOS contain such files, named `._` plus
/// the name of the other file.
const APPLE_DOUBLE: [u8; 4] = [0, 5, 0x16, 7];

/// The position of a file in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberLocation {
    /// The size in bytes.
    pub(super) size: u64,
    /// The offset in the unpacked stream, or for a directory, its number in the traversal.
    pub(super) offset: u64,
}

/// The files of an archive by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Index {
    pub(super) files: BTreeMap<String, MemberLocation>,
    /// The number of links, devices and files with names that are not valid paths.
    pub(super) left_out: u64,
    /// The number of bytes after the end of the archive.
    pub(super) trailing: u64,
}

impl Index {
    /// Reads a whole `.tar.gz`, which verifies it.
    pub(super) fn of_stream(source: impl Read, limits: &ReadLimits) -> Result<Self, PassError> {
        let mut index = Self::default();
        let seen = each_member(source, &limits.stream(), |member| -> Result<_, PassError> {
            let place = MemberLocation { size: member.size, offset: member.offset };
            match (member.kind, &member.name) {
                // The name points outside of the archive's root, which no legitimate tool writes.
                (_, Err(why @ (NameFault::Absolute | NameFault::Parent | NameFault::Nul))) => {
                    return Err(PassError::Hostile { member: member.shown.clone(), why: *why });
                }
                (Kind::Dir, _) => {}
                (Kind::File { .. }, Ok(name)) if !name.is_root() => {
                    let name = name.clone();
                    let is_attributes = is_attributes(&name, member)?;
                    index.add(&name, place, is_attributes);
                }
                _ => index.left_out = index.left_out.saturating_add(1),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        index.trailing = seen.trailing;
        Ok(index)
    }

    /// Traverses a directory with the content of an archive.
    pub(super) fn of_directory(root: &Dir, limits: &ReadLimits) -> Result<Self, PassError> {
        let mut index = Self::default();
        let mut number = 0;
        walk(root, &limits.walk(), &mut |met| -> Result<(), PassError> {
            match met {
                WalkEntry::Dir { .. } => {}
                WalkEntry::SkipReason { .. } => index.left_out = index.left_out.saturating_add(1),
                WalkEntry::File { name, mut file, metadata } => {
                    let place = MemberLocation { size: metadata.len(), offset: number };
                    number += 1;
                    // A file that cannot be read here fails when it is requested.
                    let is_attributes = is_attributes(name, &mut file).unwrap_or(false);
                    index.add(name, place, is_attributes);
                }
            }
            Ok(())
        })?;
        Ok(index)
    }

    /// Adds a file. As in tar, the last file with a name wins.
    fn add(&mut self, name: &MemberName, place: MemberLocation, is_attributes: bool) {
        if is_attributes {
            self.left_out = self.left_out.saturating_add(1);
        } else {
            self.files.insert(name.as_str().to_owned(), place);
        }
    }

    /// Returns the files whose name starts with `prefix`, ordered by name.
    pub(super) fn below(&self, prefix: String) -> impl Iterator<Item = (&str, MemberLocation)> {
        let from = self.files.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        from.take_while(move |(name, _)| name.starts_with(&prefix)).map(|(name, place)| (name.as_str(), *place))
    }
}

fn is_attributes(name: &MemberName, content: &mut dyn Read) -> Result<bool, crate::member::StreamError> {
    if !name.split().is_some_and(|(_, base)| base.starts_with("._")) {
        return Ok(false);
    }
    let mut begin = [0; APPLE_DOUBLE.len()];
    match content.read_exact(&mut begin) {
        Ok(()) => Ok(begin == APPLE_DOUBLE),
        // The file is shorter than that, or the error will occur again.
        Err(_) => Ok(false),
    }
}
