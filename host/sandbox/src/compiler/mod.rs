//! Compiling in a process of its own: the compiler reads bytes of strangers, and a few kilobytes can cost it gigabytes and minutes.
//!
//! The process is this very program with a subcommand that calls [`compile_stdin`]. It limits itself before it reads anything, and
//! answers with the code in the form of a cache entry.

mod child;
mod parent;

pub use child::compile_stdin;
pub(crate) use parent::CompilerError;

use std::ffi::OsString;
use std::path::PathBuf;

/// Bytes of compiled code that are taken from the process: 128 MiB. The code of CPython has 60 MiB.
const MAX_CODE_BYTES: u64 = 128 << 20;
/// Threads that compile. More would need more memory, and each has a stack of its own.
const THREADS: usize = 4;
/// The component is not valid, and standard error says why.
const INVALID: i32 = 2;
/// There was not enough memory.
const NO_MEMORY: i32 = 3;

/// How components are compiled in a process of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerProcess {
    /// The program.
    pub program: PathBuf,
    /// Its arguments. Bytes of memory and seconds of processor time follow: what [`compile_stdin`] is called with.
    pub args: Vec<OsString>,
    /// Memory that compiling one component may take, in bytes.
    pub memory: u64,
    /// Processor time that compiling one component may take, in seconds. The wall clock may be four times as long.
    pub cpu_seconds: u64,
}
