//! The role `check`: files and variables through WASI, and the rest through the contract.

use std::time::Duration;

use serde_json::Value;

use super::check_role::plumbline::plugin::{cluster, network, ownership, progress};
use super::wasi::wasi::cli::environment;
use super::wasi::wasi::clocks::{monotonic_clock, wall_clock};
use super::wasi::wasi::filesystem::preopens;
use super::wasi::wasi::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};
use crate::batches::BatchSource;
use crate::context::{Attributes, DirEntry, FileError, FileType, Host, Metadata, ObjectQuery, Progress, locate};
use crate::input::Source;
use crate::network::{Attempts, Connection, NetworkError, Request, Response, Target, Trust};

/// The host in the sandbox.
pub(super) struct Sandbox {
    /// The granted directories with their paths.
    directories: Vec<(Descriptor, String)>,
}

impl Sandbox {
    pub(super) fn new() -> Self {
        Self { directories: preopens::get_directories() }
    }

    fn locate<'a>(&self, path: &'a str) -> Result<(&Descriptor, &'a str), FileError> {
        locate(path, self.directories.iter().map(|(descriptor, name)| (name.as_str(), descriptor)))
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

    fn attributes(&mut self, path: &str) -> Result<Attributes, FileError> {
        match ownership::read(path) {
            Ok(Some(ownership::Attributes { mode, uid, gid })) => Ok(Attributes { mode, uid, gid }),
            Ok(None) => Err(FileError::NotFound { path: path.to_owned() }),
            Err(cause) => Err(FileError::Other { path: path.to_owned(), cause }),
        }
    }

    fn env(&mut self, name: &str) -> Option<String> {
        environment::get_environment().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn now(&mut self) -> Duration {
        let now = wall_clock::now();
        Duration::new(now.seconds, now.nanoseconds)
    }

    fn sleep(&mut self, time: Duration) {
        monotonic_clock::subscribe_duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)).block();
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

    fn send(&mut self, request: &Request) -> Result<Response, NetworkError> {
        let Request { method, url, headers, body, trust, timeout } = request.clone();
        let trust = match trust {
            Trust::System => network::Trust::System,
            Trust::Certificates(pem) => network::Trust::Certificates(pem),
            Trust::Any => network::Trust::Any,
        };
        let timeout_ms = milliseconds(timeout).max(1);
        let found = network::send(&network::Request { method, url, headers, body, trust, timeout_ms });
        let network::Response { status, headers, body, certificate, address } = found.map_err(NetworkError::from)?;
        Ok(Response { status, headers, body, certificate, address })
    }

    fn resolve(&mut self, name: &str) -> Result<Vec<String>, NetworkError> {
        network::resolve(name).map_err(NetworkError::from)
    }

    fn connect(&mut self, targets: &[Target], attempts: Attempts) -> Vec<Result<Connection, NetworkError>> {
        let target = |target: &Target| network::Target { host: target.host.clone(), port: target.port };
        let targets: Vec<network::Target> = targets.iter().map(target).collect();
        let connection = |network::Connection { address, microseconds }| Connection {
            address,
            took: Duration::from_micros(microseconds),
        };
        let times = [milliseconds(attempts.timeout).max(1), milliseconds(attempts.wait)];
        let results = network::connect(&targets, times[0], times[1]);
        results.into_iter().map(|result| result.map(connection).map_err(NetworkError::from)).collect()
    }

    fn report(&mut self, Progress { completed, total, message }: Progress) {
        progress::report(completed, total, &message);
    }
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

impl From<network::Failure> for NetworkError {
    fn from(failure: network::Failure) -> Self {
        match failure {
            network::Failure::Denied(text) => Self::Denied(text),
            network::Failure::NotFound(text) => Self::NotFound(text),
            network::Failure::Refused(text) => Self::Refused(text),
            network::Failure::Timeout(text) => Self::Timeout(text),
            network::Failure::Tls(text) => Self::Tls(text),
            network::Failure::Other(text) => Self::Other(text),
        }
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
