//! The file system of a check: granted directories, read-only.
//!
//! `wasmtime-wasi` resolves paths, and keeps them inside the granted directory. This layer on top
//! opens nothing but regular files and directories, counts what is read, and bounds what is open.
//! Functions that write are not passed on.

use std::fs::{File, read_link};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{PROC_SUPER_MAGIC, fstatfs};
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::filesystem::types as wit;
use wasmtime_wasi::p2::bindings::sync::io::streams;
use wasmtime_wasi::p2::{DynInputStream, FsError, FsResult, InputStream, Pollable, StreamError, StreamResult};

use super::entries::{Entries, OpenFiles, Ticket};
use crate::call::limits::{Clock, Meter};
use crate::call::state::CallState;
use crate::failure::Stop;

/// The maximum number of bytes that one read returns.
const MAX_READ: usize = 64 << 10;

pub(crate) struct NodeFiles<'a> {
    wasi: WasiFilesystemCtxView<'a>,
    open: &'a mut OpenFiles,
    /// The granted directories that cannot be opened, with what stands for them.
    denied: &'a [(String, Dir)],
    clock: Clock,
    meter: Meter,
}

/// The type by which the linker refers to [`NodeFiles`].
pub(crate) struct HasNodeFiles;

impl HasData for HasNodeFiles {
    type Data<'a> = NodeFiles<'a>;
}

impl CallState {
    pub(super) fn node_files(&mut self) -> NodeFiles<'_> {
        let (clock, meter) = (self.wasi.clock.clone(), self.wasi.meter.clone());
        let (wasi, open) = self.wasi.view_with_open();
        let wasi = WasiFilesystemCtxView { ctx: wasi.ctx.filesystem(), table: wasi.table };
        NodeFiles { wasi, open, denied: self.directories.denied(), clock, meter }
    }
}

impl NodeFiles<'_> {
    /// Returns the error that ends the call, if its time is over.
    fn check(&self) -> FsResult<()> {
        self.clock.check().map_err(FsError::trap)
    }

    /// Returns the error that ends the call, as [`Self::check`] does, or that of a directory that cannot
    /// be opened.
    fn check_directory(&self, fd: &Resource<Descriptor>) -> FsResult<()> {
        self.check()?;
        match self.wasi.table.get(fd)? {
            Descriptor::Dir(directory) if !directory.dir.metadata()?.is_dir() => Err(ErrorCode::NotPermitted.into()),
            _ => Ok(()),
        }
    }

    fn file(&self, fd: &Resource<Descriptor>) -> FsResult<Arc<File>> {
        match self.wasi.table.get(fd)? {
            Descriptor::File(file) => Ok(Arc::clone(&file.file)),
            Descriptor::Dir(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }

    /// Returns whether what was opened may be read.
    fn is_allowed(&self, fd: &Resource<Descriptor>) -> FsResult<bool> {
        Ok(match self.wasi.table.get(fd)? {
            Descriptor::File(file) => file.file.metadata()?.is_file() && !is_private(&file.file),
            Descriptor::Dir(_) => true,
        })
    }
}

/// Another handle of the same resource, for a second call with it.
fn again<T: 'static>(resource: &Resource<T>) -> Resource<T> {
    Resource::new_borrow(resource.rep())
}

/// The names of files of `/proc` with the memory or the environment of a process or of the kernel,
/// or with addresses in it. A process may always read its own. For a check, that is the process of
/// the host, with its credentials.
const PRIVATE: &[&str] =
    &["auxv", "environ", "kcore", "maps", "mem", "numa_maps", "pagemap", "smaps", "smaps_rollup", "stack", "syscall"];

/// What the kernel adds to the name of an open file that was removed: here, that of a thread that has
/// ended. The file still shows its process.
const DELETED: &str = " (deleted)";

/// Returns whether `file` is in a file system of processes, and private. A file whose name cannot be
/// read is private.
fn is_private(file: &File) -> bool {
    match fstatfs(file) {
        Ok(found) if found.f_type != PROC_SUPER_MAGIC => false,
        Ok(_) => {
            // The name under which the kernel opened it, after links.
            let name = read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok();
            let name = name.as_deref().and_then(|path| path.file_name()?.to_str());
            name.is_none_or(|name| PRIVATE.contains(&name.strip_suffix(DELETED).unwrap_or(name)))
        }
        Err(_) => true,
    }
}

type Fd = Resource<Descriptor>;

/// Defines functions that write, which a check must not do.
macro_rules! read_only {
    ($($function:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(fn $function(&mut self, $(_: $argument),*) -> FsResult<$result> {
            Err(ErrorCode::NotPermitted.into())
        })*
    };
}

/// Reads at most [`MAX_READ`] bytes at `offset`. No bytes mean the end of the file.
fn read_at(file: &File, max: u64, offset: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(max).unwrap_or(MAX_READ).min(MAX_READ)];
    loop {
        match file.read_at(&mut bytes, offset) {
            Ok(length) => {
                bytes.truncate(length);
                return Ok(bytes);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl preopens::Host for NodeFiles<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mut directories = preopens::Host::get_directories(&mut self.wasi)?;
        for (path, stand_in) in self.denied {
            directories.push((self.wasi.table.push(Descriptor::Dir(stand_in.clone()))?, path.clone()));
        }
        Ok(directories)
    }
}

impl wit::Host for NodeFiles<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<wit::ErrorCode> {
        self.wasi.convert_error_code(error)
    }

    fn filesystem_error_code(&mut self, error: Resource<streams::Error>) -> wasmtime::Result<Option<wit::ErrorCode>> {
        self.wasi.filesystem_error_code(error)
    }
}

impl wit::HostDescriptor for NodeFiles<'_> {
    fn open_at(
        &mut self,
        fd: Fd,
        path_flags: wit::PathFlags,
        path: String,
        open_flags: wit::OpenFlags,
        flags: wit::DescriptorFlags,
    ) -> FsResult<Fd> {
        self.check_directory(&fd)?;
        let ticket = self.open.ticket().map_err(FsError::trap)?;
        let writes = [wit::OpenFlags::CREATE, wit::OpenFlags::EXCLUSIVE, wit::OpenFlags::TRUNCATE];
        if writes.into_iter().any(|flag| open_flags.contains(flag)) || flags.contains(wit::DescriptorFlags::WRITE) {
            return Err(ErrorCode::NotPermitted.into());
        }
        // Opening a pipe would wait for its other end, and opening a device may do anything.
        let found = self.wasi.stat_at(again(&fd), path_flags, path.clone())?;
        if !matches!(
            found.type_,
            wit::DescriptorType::RegularFile | wit::DescriptorType::Directory | wit::DescriptorType::SymbolicLink
        ) {
            return Err(ErrorCode::NotPermitted.into());
        }
        let opened = self.wasi.open_at(fd, path_flags, path, open_flags, flags)?;
        // The path may lead elsewhere by now.
        if !self.is_allowed(&opened)? {
            wit::HostDescriptor::drop(&mut self.wasi, opened).map_err(FsError::trap)?;
            return Err(ErrorCode::NotPermitted.into());
        }
        self.open.descriptors.insert(opened.rep(), ticket);
        Ok(opened)
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        self.open.descriptors.remove(&fd.rep());
        wit::HostDescriptor::drop(&mut self.wasi, fd)
    }

    fn read(&mut self, fd: Fd, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        self.check()?;
        let bytes = read_at(&*self.file(&fd)?, length, offset)?;
        self.meter.charge(bytes.len() as u64).map_err(FsError::trap)?;
        let end = bytes.is_empty() && length > 0;
        Ok((bytes, end))
    }

    fn read_via_stream(&mut self, fd: Fd, offset: u64) -> FsResult<Resource<DynInputStream>> {
        self.check()?;
        let stream = FileStream {
            file: self.file(&fd)?,
            _ticket: self.open.descriptors.get(&fd.rep()).cloned(),
            offset,
            clock: self.clock.clone(),
            meter: self.meter.clone(),
        };
        let stream: DynInputStream = Box::new(stream);
        Ok(self.wasi.table.push(stream)?)
    }

    fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<wit::DirectoryEntryStream>> {
        self.check_directory(&fd)?;
        let ticket = self.open.ticket().map_err(FsError::trap)?;
        let entries = match self.wasi.table.get(&fd)? {
            Descriptor::Dir(directory) => Entries::open(&directory.dir, ticket)?,
            Descriptor::File(_) => return Err(ErrorCode::NotDirectory.into()),
        };
        // The guest only ever sees the number.
        Ok(Resource::new_own(self.wasi.table.push(entries)?.rep()))
    }

    fn get_flags(&mut self, fd: Fd) -> FsResult<wit::DescriptorFlags> {
        self.check()?;
        self.wasi.get_flags(fd)
    }

    fn get_type(&mut self, fd: Fd) -> FsResult<wit::DescriptorType> {
        self.check()?;
        self.wasi.get_type(fd)
    }

    fn stat(&mut self, fd: Fd) -> FsResult<wit::DescriptorStat> {
        self.check_directory(&fd)?;
        self.wasi.stat(fd)
    }

    fn stat_at(&mut self, fd: Fd, path_flags: wit::PathFlags, path: String) -> FsResult<wit::DescriptorStat> {
        self.check_directory(&fd)?;
        self.wasi.stat_at(fd, path_flags, path)
    }

    fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.check_directory(&fd)?;
        self.wasi.readlink_at(fd, path)
    }

    fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        self.clock.check()?;
        self.wasi.is_same_object(a, b)
    }

    fn metadata_hash(&mut self, fd: Fd) -> FsResult<wit::MetadataHashValue> {
        self.check()?;
        self.wasi.metadata_hash(fd)
    }

    fn metadata_hash_at(
        &mut self,
        fd: Fd,
        path_flags: wit::PathFlags,
        path: String,
    ) -> FsResult<wit::MetadataHashValue> {
        self.check_directory(&fd)?;
        self.wasi.metadata_hash_at(fd, path_flags, path)
    }

    fn advise(&mut self, _: Fd, _: u64, _: u64, _: wit::Advice) -> FsResult<()> {
        self.check()
    }

    read_only! {
        sync_data(Fd) -> ();
        sync(Fd) -> ();
        set_size(Fd, u64) -> ();
        set_times(Fd, wit::NewTimestamp, wit::NewTimestamp) -> ();
        set_times_at(Fd, wit::PathFlags, String, wit::NewTimestamp, wit::NewTimestamp) -> ();
        write(Fd, Vec<u8>, u64) -> u64;
        write_via_stream(Fd, u64) -> Resource<streams::OutputStream>;
        append_via_stream(Fd) -> Resource<streams::OutputStream>;
        create_directory_at(Fd, String) -> ();
        remove_directory_at(Fd, String) -> ();
        unlink_file_at(Fd, String) -> ();
        symlink_at(Fd, String, String) -> ();
        link_at(Fd, wit::PathFlags, String, Fd, String) -> ();
        rename_at(Fd, String, Fd, String) -> ();
    }
}

impl wit::HostDirectoryEntryStream for NodeFiles<'_> {
    fn read_directory_entry(
        &mut self,
        stream: Resource<wit::DirectoryEntryStream>,
    ) -> FsResult<Option<wit::DirectoryEntry>> {
        self.check()?;
        let entries: Resource<Entries> = Resource::new_borrow(stream.rep());
        let Some(entry) = self.wasi.table.get_mut(&entries)?.next(&self.meter).map_err(FsError::trap)? else {
            return Ok(None);
        };
        Ok(Some(entry?))
    }

    fn drop(&mut self, stream: Resource<wit::DirectoryEntryStream>) -> wasmtime::Result<()> {
        let entries: Resource<Entries> = Resource::new_own(stream.rep());
        self.wasi.table.delete(entries)?;
        Ok(())
    }
}

struct FileStream {
    file: Arc<File>,
    /// The file stays open as long as the stream, also without its descriptor.
    _ticket: Option<Ticket>,
    offset: u64,
    clock: Clock,
    meter: Meter,
}

impl InputStream for FileStream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let stop = |stop: Stop| StreamError::Trap(stop.into());
        self.clock.check().map_err(stop)?;
        if size == 0 {
            return Ok(Bytes::new());
        }
        let bytes = read_at(&self.file, size as u64, self.offset)
            .map_err(|error| StreamError::LastOperationFailed(error.into()))?;
        if bytes.is_empty() {
            return Err(StreamError::Closed);
        }
        self.meter.charge(bytes.len() as u64).map_err(stop)?;
        self.offset = self.offset.saturating_add(bytes.len() as u64);
        Ok(bytes.into())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for FileStream {
    /// Returns immediately: a read itself waits.
    async fn ready(&mut self) {}
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use rustix::fs::{Mode, OFlags, open, openat};
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn files_of_threads_that_have_ended_are_private() {
        let (sender, directories) = channel();
        let (end, ended) = channel::<()>();
        let other = thread::spawn(move || {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            sender.send(open("/proc/thread-self", flags, Mode::empty()).unwrap()).unwrap();
            assert!(ended.recv().is_err());
        });
        let directory = directories.recv().unwrap();
        let file = |name: &str| openat(&directory, name, OFlags::RDONLY, Mode::empty()).map(File::from);
        let (environment, name) = (file("environ").unwrap(), file("comm").unwrap());
        assert!(is_private(&environment) && !is_private(&name));
        drop(end);
        other.join().unwrap();
        // The kernel notices that they are gone when somebody looks for them.
        while file("environ").err() != Some(Errno::NOENT) {
            thread::yield_now();
        }
        let shown = read_link(format!("/proc/self/fd/{}", environment.as_raw_fd())).unwrap();
        assert!(shown.to_str().unwrap().ends_with("/environ (deleted)"), "{}", shown.display());
        assert!(is_private(&environment));
    }
}
