//! Selects the way to get a standard library, and how to compile modules with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rustc::{Rustc, TARGET};
use super::store::{Entry, Store, Workshop};
use super::way::{Allowed, Attempt, StdSource};
use super::{debian_rust, debian_source, rustup};
use crate::error::Error;
use crate::paths;
use crate::report::say;

/// A standard library that is ready for use.
#[derive(Debug)]
pub(crate) struct WasmStd {
    way: StdSource,
    /// An identity that differs between standard libraries whose modules must not be mixed.
    identity: String,
    flags: Vec<String>,
    /// A compiler other than the machine's own, with the directory of its shared libraries.
    compiler: Option<(OsString, PathBuf)>,
}

/// Enables 128-bit vectors, which every runtime of modules has supported for years. Parsers mostly
/// search bytes, which is a fifth faster with them.
const SIMD: &str = "-Ctarget-feature=+simd128";

impl WasmStd {
    /// Returns the identity, which a build directory must record. Output of another standard
    /// library cannot be reused, and cargo does not notice the difference.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Returns whether modules are compiled by the machine's own compiler, so that its other tools
    /// (clippy) can read the output.
    pub(crate) fn has_own_compiler(&self) -> bool {
        self.compiler.is_none()
    }

    /// Sets up a cargo command to compile for [`TARGET`], in the workspace at `root`.
    ///
    /// Flags from the environment are replaced, because those for this machine's processor do not
    /// fit a module. Paths of this machine are kept out of the output, so that the same source
    /// gives the same module everywhere.
    pub(crate) fn apply(&self, command: &mut Command, root: &Path) {
        let mut flags = self.flags.clone();
        flags.push(SIMD.to_owned());
        flags.extend(paths::cargo_home().map(|home| format!("--remap-path-prefix={}=/cargo", home.display())));
        flags.push(format!("--remap-path-prefix={}=/plumbline", root.display()));
        command.args(["--target", TARGET]).env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        if let Some((program, libraries)) = &self.compiler {
            command.env("RUSTC", program).env("LD_LIBRARY_PATH", libraries);
        }
    }

    /// Returns the variable with which any cargo finds the standard library for [`TARGET`] only.
    ///
    /// Returns `None` if cargo finds it without a variable. Also returns `None` if it belongs to
    /// another compiler than the machine's own, and the builds of authors are skipped.
    pub(crate) fn variable(&self) -> Option<(&'static str, String)> {
        let needed = self.has_own_compiler() && !self.flags.is_empty();
        needed.then(|| ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", self.flags.join(" ")))
    }

    fn in_toolchain(way: StdSource, rustc: &Rustc) -> Self {
        Self {
            way,
            identity: format!("{} in {}", rustc.line, rustc.sysroot.display()),
            flags: Vec::new(),
            compiler: None,
        }
    }

    fn from_source(entry: &Entry) -> Self {
        Self {
            way: StdSource::DebianSource,
            identity: format!("{} {}", entry.dir.display(), entry.id),
            flags: debian_source::flags(&entry.dir),
            compiler: None,
        }
    }

    fn from_debian_rust(machine: &Rustc, entry: &Entry) -> Result<Self, Error> {
        let (rustc, flags) = debian_rust::compiler(machine, &entry.dir)?;
        let libraries = rustc.libraries.unwrap_or_default();
        Ok(Self {
            way: StdSource::DebianRust,
            identity: format!("{} {}", entry.dir.display(), entry.id),
            flags,
            compiler: Some((rustc.program, libraries)),
        })
    }
}

/// Finds a standard library, or builds one.
pub(crate) fn ensure() -> Result<WasmStd, Error> {
    let rustc = Rustc::of_this_machine()?;
    let (found, made_from) = search(&rustc, Allowed::from_env()?)?;
    say(format_args!("{TARGET} standard library: step {}, {}{made_from}", found.way.number(), found.way));
    Ok(found)
}

/// Tries the ways in order. Earlier builds come first, because they cost nothing.
fn search(rustc: &Rustc, allowed: Allowed) -> Result<(WasmStd, String), Error> {
    let mut attempts = Vec::new();
    if allowed.allows(StdSource::Installed) {
        if rustc.has_target() {
            return Ok((WasmStd::in_toolchain(StdSource::Installed, rustc), String::new()));
        }
        let reason = format!("`{}` has none in `{}`", rustc.line, rustc.sysroot.display());
        attempts.push(Attempt { way: StdSource::Installed, reason });
    }
    let store = Store::open()?;
    if let Some(found) = kept(rustc, &store, allowed) {
        return Ok(found);
    }
    if allowed.allows(StdSource::Rustup) {
        match rustup::add(rustc) {
            Ok(()) => return Ok((WasmStd::in_toolchain(StdSource::Rustup, rustc), String::new())),
            Err(error) => attempts.push(Attempt { way: StdSource::Rustup, reason: error.to_string() }),
        }
    }
    if allowed.allows(StdSource::DebianSource) || allowed.allows(StdSource::DebianRust) {
        let workshop = store.lock()?;
        // Another process may have built it while this one waited.
        if let Some(found) = kept(rustc, &store, allowed) {
            return Ok(found);
        }
        if let Some(found) = make(rustc, &store, &workshop, allowed, &mut attempts) {
            return Ok(found);
        }
    }
    Err(Error::NoWasmStd { attempts })
}

/// Returns an earlier build.
fn kept(rustc: &Rustc, store: &Store, allowed: Allowed) -> Option<(WasmStd, String)> {
    if allowed.allows(StdSource::DebianSource)
        && let Some(entry) = store.get(&debian_source::entry_name(rustc))
    {
        return Some((WasmStd::from_source(&entry), origin(&entry)));
    }
    if allowed.allows(StdSource::DebianRust)
        && let Some(entry) = store.get(&debian_rust::entry_name(rustc))
    {
        // Rebuild one that no longer runs.
        return Some((WasmStd::from_debian_rust(rustc, &entry).ok()?, origin(&entry)));
    }
    None
}

/// Builds a standard library.
fn make(
    rustc: &Rustc,
    store: &Store,
    workshop: &Workshop<'_>,
    allowed: Allowed,
    attempts: &mut Vec<Attempt>,
) -> Option<(WasmStd, String)> {
    say(format_args!("the {TARGET} standard library for `{}` is missing and will be built", rustc.line));
    if allowed.allows(StdSource::DebianSource) {
        match debian_source::make(rustc, store, workshop) {
            Ok(entry) => return Some((WasmStd::from_source(&entry), origin(&entry))),
            Err(error) => attempts.push(Attempt { way: StdSource::DebianSource, reason: error.to_string() }),
        }
    }
    if allowed.allows(StdSource::DebianRust) {
        let made = debian_rust::make(rustc, store, workshop)
            .and_then(|entry| Ok((WasmStd::from_debian_rust(rustc, &entry)?, origin(&entry))));
        match made {
            Ok(found) => return Some(found),
            Err(error) => attempts.push(Attempt { way: StdSource::DebianRust, reason: error.to_string() }),
        }
    }
    None
}

fn origin(entry: &Entry) -> String {
    format!(", {} ({})", entry.made_from, entry.dir.display())
}
