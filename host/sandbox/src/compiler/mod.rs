//! Compiles in a separate process. The compiler reads untrusted data, and a few kilobytes can take
//! it gigabytes and minutes.
//!
//! The process runs the same program, with a subcommand that calls [`compile_stdin`]. It limits its
//! own resources before it reads anything, and returns the code in the form of a cache entry.

mod child;
mod parent;

pub use child::compile_stdin;
pub(crate) use parent::CompilerError;

use std::ffi::OsString;
use std::path::PathBuf;

/// The maximum size of compiled code from the process, in bytes: 128 MiB. The code of CPython has
/// 60 MiB.
const MAX_CODE_BYTES: u64 = 128 << 20;
/// The number of threads that compile. More threads need more memory, and each has a stack of its
/// own.
const THREADS: usize = 4;
/// The exit code for an invalid component. Standard error has the reason.
const INVALID: i32 = 2;
/// The exit code for insufficient memory.
const NO_MEMORY: i32 = 3;

/// The settings of the separate process that compiles components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerProcess {
    /// The path of the program.
    pub program: PathBuf,
    /// The arguments. The limits for [`compile_stdin`] are appended: bytes of memory and seconds of
    /// CPU time.
    pub args: Vec<OsString>,
    /// The memory that compiling one component may take, in bytes.
    pub memory: u64,
    /// The CPU time that compiling one component may take, in seconds. The wall-clock limit is four
    /// times as long.
    pub cpu_seconds: u64,
}
