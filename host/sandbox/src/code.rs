//! Turns components into machine code: compiled here, loaded from the cache, embedded in the program,
//! or carried here by somebody who compiled it.
//!
//! This is the only module of the crate with `unsafe` code, because an engine trusts the machine
//! code that it loads.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use plumbline_core::Digest;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::cache::{Cache, Entry, Key};
use crate::compiler::{CompilerError, MAX_CODE_BYTES};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Compiled,
    Cached,
}

/// Code that wasmtime generated and that has not been modified since. The engine has the same
/// settings, or rejects the code.
struct Trusted<'a>(&'a [u8]);

impl Trusted<'_> {
    #[expect(unsafe_code, reason = "loads machine code; the proof stands inside")]
    fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        // SAFETY: the bytes must be the unchanged output of `Engine::precompile_component`. A
        // `Trusted` is only created in this file, from one of these sources:
        // * The output of `precompile_component`, which has only been in memory that nothing else
        //   accesses. It comes from this process, or from a child process that runs the same
        //   program, over a pipe that only these two hold (`CompilerProcess`).
        // * A cache entry that `Cache::get` verified. This user wrote it to a directory and file
        //   that nobody else may write to. It has the digest with which it was written, and belongs
        //   to this engine and component. Anyone who can forge such an entry can also change this
        //   program.
        // * Bytes that are part of this program, as required by `Sandbox::load_precompiled`,
        //   decompressed in memory that nothing else accesses. wasmtime itself compares version,
        //   target, flags and features, and rejects any difference with an error.
        // * Bytes with a digest that the caller got from the party that decides which program
        //   this is, as required by `Accepted::load_carried`, decompressed in memory that nothing
        //   else accesses. Where the bytes have been in between does not matter: others have
        //   another digest. Anyone who can name the digest of forged code could start another
        //   program instead of this one.
        unsafe { Component::deserialize(engine, self.0) }
    }
}

pub(crate) enum CodeError {
    Compile(CompilerError),
    Load(wasmtime::Error),
}

/// Loads code from the cache, or else compiles it. `compile` must return the output of
/// `precompile_component`.
pub(crate) fn get(
    engine: &Engine,
    cache: Option<&Cache>,
    key: &Key,
    compile: impl FnOnce() -> Result<Vec<u8>, CompilerError>,
) -> Result<(Component, Origin), CodeError> {
    let load = |entry: Entry<'_>| Trusted(entry.code).load(engine).map_err(|error| format!("{error:#}"));
    if let Some(component) = cache.and_then(|cache| cache.get(key, load)) {
        return Ok((component, Origin::Cached));
    }
    let code = compile().map_err(CodeError::Compile)?;
    if let Some(cache) = cache {
        cache.put(key, &code);
    }
    Ok((Trusted(&code).load(engine).map_err(CodeError::Load)?, Origin::Compiled))
}

/// Returns code for other processes: from the cache, or else compiled. `compile` must return the
/// output of `precompile_component`.
pub(crate) fn for_others(
    cache: Option<&Cache>,
    key: &Key,
    compile: impl FnOnce() -> Result<Vec<u8>, CompilerError>,
) -> Result<Vec<u8>, CompilerError> {
    if let Some(code) = cache.and_then(|cache| cache.get(key, |entry| Ok(entry.code.to_vec()))) {
        return Ok(code);
    }
    let code = compile()?;
    if let Some(cache) = cache {
        cache.put(key, &code);
    }
    Ok(code)
}

/// Returns the entry of `key` for a program in which it is embedded, or for another process. It is
/// compressed, because a program contains the code of many modules, and a run loads few of them.
pub(crate) fn to_bring_along(key: &Key, code: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressed = DeflateEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(code)?;
    Ok(Entry::write(key, &compressed.finish()?))
}

/// Loads code that is embedded in the program, if it is the code of `key`.
///
/// The digest of the code is not verified, because the bytes are as safe as the rest of the
/// program. The error says why the code does not match.
pub(crate) fn brought_along(engine: &Engine, bytes: &'static [u8], key: &Key) -> Result<Component, String> {
    load_entry(engine, bytes, key)
}

/// Loads code that was carried here, if it is the code of `key`. Returns `None` if `digest` is not
/// that of `bytes`. The error says why the code does not match.
pub(crate) fn carried(engine: &Engine, bytes: &[u8], digest: &Digest, key: &Key) -> Option<Result<Component, String>> {
    (Digest::of(bytes) == *digest).then(|| load_entry(engine, bytes, key))
}

/// Loads a compressed entry, whose bytes are one of the sources of [`Trusted`].
fn load_entry(engine: &Engine, bytes: &[u8], key: &Key) -> Result<Component, String> {
    let entry = Entry::read(bytes, key).map_err(|error| error.to_string())?;
    let mut code = Vec::new();
    let unpacked = DeflateDecoder::new(entry.code).take(MAX_CODE_BYTES + 1).read_to_end(&mut code);
    if unpacked.map_err(|error| error.to_string())? as u64 > MAX_CODE_BYTES {
        return Err(format!("it has more than {} MiB", MAX_CODE_BYTES >> 20));
    }
    Trusted(&code).load(engine).map_err(|error| format!("{error:#}"))
}
