//! The child process, which compiles.

use std::io::{self, Read, Write};
use std::panic::catch_unwind;

use plumbline_core::limits::MAX_COMPONENT_BYTES;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sha2::{Digest, Sha256};

use super::{INVALID, NO_MEMORY};
use crate::cache::{Entry, Key};
use crate::engine;

/// Compiles the component on standard input and writes its code to standard output. Limits itself
/// to `memory` bytes and `cpu_seconds` of CPU time. Returns the exit code of the process.
///
/// # Errors
///
/// Returns an error if the limits cannot be set, or if input or output fail.
pub fn compile_stdin(memory: u64, cpu_seconds: u64) -> io::Result<i32> {
    limit(Resource::Data, memory, 0)?;
    // At the soft limit, the signal shows which resource was exhausted. At the hard limit, the
    // process is killed.
    limit(Resource::Cpu, cpu_seconds, 5)?;
    limit(Resource::Core, 0, 0)?;

    let mut wasm = Vec::new();
    io::stdin().lock().take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut wasm)?;
    let compiled = catch_unwind(|| -> wasmtime::Result<_> {
        let engine = engine::compiling()?;
        let code = engine.precompile_component(&wasm)?;
        Ok((engine::fingerprint(&engine), code))
    });
    match compiled {
        Ok(Ok((engine, code))) => {
            let key = Key { engine, component: Sha256::digest(&wasm).into() };
            let mut out = io::stdout().lock();
            out.write_all(&Entry::head(&key, &code))?;
            out.write_all(&code)?;
            out.flush()?;
            Ok(0)
        }
        Ok(Err(error)) => {
            let reason = format!("{error:#}");
            writeln!(io::stderr(), "{reason}")?;
            // The system's message for ENOMEM, which the engine passes on as text.
            Ok(if reason.contains("Cannot allocate memory") { NO_MEMORY } else { INVALID })
        }
        // The panic message is on standard error.
        Err(_) => Ok(INVALID),
    }
}

/// Sets the soft limit to `value` and the hard limit to `more` above it. Neither exceeds the
/// current hard limit of the process.
fn limit(resource: Resource, value: u64, more: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(value.min(most)), maximum: Some(value.saturating_add(more).min(most)) };
    Ok(setrlimit(resource, limit)?)
}
