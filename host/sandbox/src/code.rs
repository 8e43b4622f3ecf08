//! From components to machine code: compiled here, from the cache, or brought along by the program.
//!
//! The one place of this crate with `unsafe`: an engine believes the machine code that it is given.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::cache::{Cache, Entry, Key};

/// Where the code of a component came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Compiled,
    Cached,
}

/// Code of which this program knows that it was made by wasmtime, for an engine with these settings or refused by its checks, and
/// not touched since.
struct Trusted<'a>(&'a [u8]);

impl Trusted<'_> {
    #[expect(unsafe_code, reason = "loads machine code; the proof stands inside")]
    fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        // SAFETY: the bytes must be the unchanged output of `Engine::precompile_component`. A `Trusted` is made in this file only:
        // * of what `precompile_component` returned a moment ago, in memory that nobody else has seen: in this process, or in one
        //   that this process started from its own program, over a pipe that only these two hold (`CompilerProcess`);
        // * of a cache entry that `Cache::get` verified: written by this user into a directory and file that nobody else may write
        //   to, carrying the digest that it was written with, of the very engine and component. Who can forge that can
        //   change this program as well;
        // * of bytes that are part of this program, as the contract of `Sandbox::load_precompiled` says, decompressed in memory that
        //   nobody else has seen.
        // Version, target, flags and features are compared by wasmtime itself, and what differs is refused with an error.
        unsafe { Component::deserialize(engine, self.0) }
    }
}

/// Why there is no component.
pub(crate) enum CodeError<E> {
    /// It could not be compiled.
    Compile(E),
    /// Its code could not be loaded.
    Load(wasmtime::Error),
}

/// Takes what is in the cache, or else compiles. `compile` must return what `precompile_component` did.
pub(crate) fn get<E>(
    engine: &Engine,
    cache: Option<&Cache>,
    key: &Key,
    compile: impl FnOnce() -> Result<Vec<u8>, E>,
) -> Result<(Component, Origin), CodeError<E>> {
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

impl From<CodeError<Self>> for wasmtime::Error {
    fn from(error: CodeError<Self>) -> Self {
        match error {
            CodeError::Compile(error) | CodeError::Load(error) => error,
        }
    }
}

/// The entry of `key` for a program to bring along. It is compressed: a program carries the code of many modules, and a run loads few.
pub(crate) fn to_bring_along(key: &Key, code: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressed = DeflateEncoder::new(Vec::new(), Compression::best());
    compressed.write_all(code)?;
    Ok(Entry::write(key, &compressed.finish()?))
}

/// Takes what the program brought along, if it is the code of `key`. The digest of the code is not computed: the bytes are as
/// well kept as the rest of the program. The error says why they do not fit.
pub(crate) fn brought_along(engine: &Engine, bytes: &'static [u8], key: &Key) -> Result<Component, String> {
    let entry = Entry::read(bytes, key).map_err(|error| error.to_string())?;
    let mut code = Vec::new();
    DeflateDecoder::new(entry.code).read_to_end(&mut code).map_err(|error| error.to_string())?;
    Trusted(&code).load(engine).map_err(|error| format!("{error:#}"))
}
