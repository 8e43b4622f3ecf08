//! The role `check`: files and variables through WASI, objects and progress through the contract.

use std::time::Duration;

use serde_json::Value;

use super::check_role::plumbline::plugin::{cluster, progress};
use super::wasi::wasi::cli::environment;
use super::wasi::wasi::clocks::wall_clock;
use super::wasi::wasi::filesystem::preopens;
use super::wasi::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};
use crate::batches::BatchSource;
use crate::context::{DirEntry, FileError, FileType, Host, Metadata, ObjectQuery, Progress, below};
use crate::input::Source;

/// The host in the sandbox.
pub(super) struct Sandbox {
    /// The granted directories with their paths.
    directories: Vec<(Descriptor, String)>,
}

impl Sandbox {
    pub(super) fn new() -> Self {
        Self { directories: preopens::get_directories() }
    }

    /// Returns the granted directory that contains `path`, and the path in it. Of several, the
    /// innermost one.
    fn locate<'a>(&self, path: &'a str) -> Result<(&Descriptor, &'a str), FileError> {
        let found = self.directories.iter().filter_map(|(descriptor, directory)| {
            let rest = below(path, directory)?;
            Some((directory.len(), descriptor, rest))
        });
        let (_, descriptor, rest) =
            found.max_by_key(|(length, ..)| *length).ok_or_else(|| FileError::NotGranted { path: path.to_owned() })?;
        Ok((descriptor, rest))
    }

    fn open_at(&self, path: &str, flags: OpenFlags) -> Result<Descriptor, FileError> {
        let (directory, rest) = self.locate(path)?;
        directory
            .open_at(PathFlags::SYMLINK_FOLLOW, rest, flags, DescriptorFlags::READ)
            .map_err(|code| failed(path, code))
    }
}

impl Host for Sandbox {
    fn open(&mut self, path: &str) -> Result<(u64, Box<dyn Source>), FileError> {
        let descriptor = self.open_at(path, OpenFlags::empty())?;
        let found = descriptor.stat().map_err(|code| failed(path, code))?;
        if found.type_ == DescriptorType::Directory {
            return Err(failed(path, ErrorCode::IsDirectory));
        }
        Ok((found.size, Box::new(NodeFile { descriptor, offset: 0 })))
    }

    fn read_dir(&mut self, path: &str) -> Result<Vec<DirEntry>, FileError> {
        let failed = |code| failed(path, code);
        let stream = self.open_at(path, OpenFlags::DIRECTORY)?.read_directory().map_err(failed)?;
        let mut entries = Vec::new();
        while let Some(entry) = stream.read_directory_entry().map_err(failed)? {
            entries.push(DirEntry { name: entry.name, file_type: file_type(entry.type_) });
        }
        Ok(entries)
    }

    fn metadata(&mut self, path: &str) -> Result<Metadata, FileError> {
        let (directory, rest) = self.locate(path)?;
        let found = directory.stat_at(PathFlags::SYMLINK_FOLLOW, rest).map_err(|code| failed(path, code))?;
        Ok(Metadata { file_type: file_type(found.type_), size: found.size })
    }

    fn env(&mut self, name: &str) -> Option<String> {
        environment::get_environment().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn now(&mut self) -> Duration {
        let now = wall_clock::now();
        Duration::new(now.seconds, now.nanoseconds)
    }

    fn list(&mut self, query: &ObjectQuery) -> Result<Box<dyn BatchSource<Value>>, String> {
        let ObjectQuery { api_version, resource, namespace, label_selector, field_selector } = query.clone();
        let query = cluster::Query { api_version, resource, namespace, label_selector, field_selector };
        Ok(Box::new(HostObjects(cluster::list(&query)?)))
    }

    fn get(&mut self, query: &ObjectQuery, name: &str) -> Result<Option<Value>, String> {
        let object = cluster::get(&query.api_version, &query.resource, query.namespace.as_deref(), name)?;
        object.map(|text| parse_object(&text)).transpose()
    }

    fn report(&mut self, Progress { completed, total, message }: Progress) {
        progress::report(completed, total, &message);
    }
}

fn failed(path: &str, code: ErrorCode) -> FileError {
    let path = path.to_owned();
    match code {
        ErrorCode::NoEntry => FileError::NotFound { path },
        ErrorCode::Access | ErrorCode::NotPermitted => FileError::NotPermitted { path },
        other => FileError::Other { path, cause: other.name().to_owned() },
    }
}

fn file_type(found: DescriptorType) -> FileType {
    match found {
        DescriptorType::RegularFile => FileType::File,
        DescriptorType::Directory => FileType::Directory,
        DescriptorType::SymbolicLink => FileType::Link,
        _ => FileType::Other,
    }
}

struct NodeFile {
    descriptor: Descriptor,
    offset: u64,
}

impl Source for NodeFile {
    fn read(&mut self, max: u32) -> Result<Vec<u8>, String> {
        let (bytes, _) = self.descriptor.read(u64::from(max), self.offset).map_err(|code| code.message().to_owned())?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }
}

fn parse_object(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("the object is not JSON: {error}"))
}

struct HostObjects(cluster::Objects);

impl BatchSource<Value> for HostObjects {
    fn next(&mut self, _: u32) -> Result<Vec<Value>, String> {
        self.0.next()?.iter().map(|text| parse_object(text)).collect()
    }
}
