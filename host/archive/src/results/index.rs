//! Which files there are, and where.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::{Bound, ControlFlow};

use cap_std::fs::Dir;

use super::error::PassError;
use super::limits::ReadLimits;
use crate::member::{Kind, MemberName, NameFault, each_member};
use crate::walk::{Met, walk};

/// How a file begins in which macOS keeps attributes of another (AppleSingle and AppleDouble formats, version 2). Archives that were
/// packed there hold such files, called `._` and the name of the other.
const APPLE_DOUBLE: [u8; 4] = [0, 5, 0x16, 7];

/// A file of the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Bytes.
    pub(super) size: u64,
    /// Where it begins in the unpacked stream; for a directory, its number on the walk.
    pub(super) offset: u64,
}

/// The files of an archive by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Index {
    pub(super) files: BTreeMap<String, Place>,
    /// Links, devices and files with names that no path can hold.
    pub(super) left_out: u64,
    /// Bytes after the end of the archive.
    pub(super) trailing: u64,
}

impl Index {
    /// Goes through a whole `.tar.gz`, which verifies it.
    pub(super) fn of_stream(source: impl Read, limits: &ReadLimits) -> Result<Self, PassError> {
        let mut index = Self::default();
        let seen = each_member(source, &limits.stream(), |member| -> Result<_, PassError> {
            let place = Place { size: member.size, offset: member.offset };
            match (member.kind, &member.name) {
                // Anywhere else than below the archive's root: no honest tool writes that.
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

    /// Goes through a directory with the content of an archive.
    pub(super) fn of_directory(root: &Dir, limits: &ReadLimits) -> Result<Self, PassError> {
        let mut index = Self::default();
        let mut number = 0;
        walk(root, &limits.walk(), &mut |met| -> Result<(), PassError> {
            match met {
                Met::Dir { .. } => {}
                Met::LeftOut { .. } => index.left_out = index.left_out.saturating_add(1),
                Met::File { name, mut file, metadata } => {
                    let place = Place { size: metadata.len(), offset: number };
                    number += 1;
                    // What cannot be read here fails when it is asked for.
                    let is_attributes = is_attributes(name, &mut file).unwrap_or(false);
                    index.add(name, place, is_attributes);
                }
            }
            Ok(())
        })?;
        Ok(index)
    }

    /// Of files with the same name, as with tar, the last counts.
    fn add(&mut self, name: &MemberName, place: Place, is_attributes: bool) {
        if is_attributes {
            self.left_out = self.left_out.saturating_add(1);
        } else {
            self.files.insert(name.as_str().to_owned(), place);
        }
    }

    /// Files whose name begins with `prefix`, in order of names.
    pub(super) fn below(&self, prefix: String) -> impl Iterator<Item = (&str, Place)> {
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
        // Shorter than that, or an error that comes again.
        Err(_) => Ok(false),
    }
}
