//! The side that compiles.

use std::io::{self, Read, Write};
use std::panic::catch_unwind;

use plumbline_core::limits::MAX_COMPONENT_BYTES;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sha2::{Digest, Sha256};

use super::{INVALID, NO_MEMORY};
use crate::cache::{Entry, Key};
use crate::engine;

/// Compiles the component on standard input and writes its code to standard output, within `memory` bytes and `cpu_seconds` of processor
/// time. Returns the exit code of the process.
///
/// # Errors
/// When the limits cannot be set, or input or output fail.
pub fn compile_stdin(memory: u64, cpu_seconds: u64) -> io::Result<i32> {
    limit(Resource::Data, memory, 0)?;
    // At the first of the two, the signal says what was used up. At the second, the process is killed.
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
            // As the system words ENOMEM, which the engine passes on as text.
            Ok(if reason.contains("Cannot allocate memory") { NO_MEMORY } else { INVALID })
        }
        // The panic stands on standard error.
        Err(_) => Ok(INVALID),
    }
}

/// Sets the soft limit to `value` and the hard limit `more` above it. Neither goes above the hard limit that the process has.
fn limit(resource: Resource, value: u64, more: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(value.min(most)), maximum: Some(value.saturating_add(more).min(most)) };
    Ok(setrlimit(resource, limit)?)
}
