//! Files of `/proc` that a check must not read.
//!
//! A process may always read its own memory and environment there. For a check, that is the process
//! of the host, with its credentials.

use std::fs::{File, read_link};
use std::os::fd::AsRawFd;

use rustix::fs::{PROC_SUPER_MAGIC, fstatfs};

/// The names of files with the memory or the environment of a process or of the kernel, or with
/// addresses in it.
const PRIVATE: &[&str] =
    &["auxv", "environ", "kcore", "maps", "mem", "numa_maps", "pagemap", "smaps", "smaps_rollup", "stack", "syscall"];

/// Returns whether `file` is in a file system of processes, and private. A file whose name cannot be
/// read is private.
pub(super) fn is_private(file: &File) -> bool {
    match fstatfs(file) {
        Ok(found) if found.f_type != PROC_SUPER_MAGIC => false,
        Ok(_) => {
            // The name under which the kernel opened it, after links.
            let name = read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok();
            let name = name.as_deref().and_then(|path| path.file_name()?.to_str());
            name.is_none_or(|name| PRIVATE.contains(&name))
        }
        Err(_) => true,
    }
}
