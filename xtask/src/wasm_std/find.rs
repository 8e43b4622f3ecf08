//! Which way to a standard library is taken, and what follows from it for compiling modules.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rustc::{Rustc, TARGET};
use super::store::{Entry, Store, Workshop};
use super::way::{Allowed, Attempt, Way};
use super::{debian_rust, debian_source, rustup};
use crate::error::Error;
use crate::paths;
use crate::report::say;

/// A standard library that is ready for use.
#[derive(Debug)]
pub(crate) struct WasmStd {
    way: Way,
    /// Differs whenever modules that were compiled with another one must not be mixed with it.
    identity: String,
    flags: Vec<String>,
    /// Another compiler than the machine's own, with the directory of its shared libraries.
    compiler: Option<(OsString, PathBuf)>,
}

/// Vectors of 128 bits, which every runtime of modules has had for years: searching bytes is most of what parsers do, and a fifth
/// faster with them.
const SIMD: &str = "-Ctarget-feature=+simd128";

impl WasmStd {
    /// What a build directory must remember: results of another standard library cannot be used with this one, and cargo does
    /// not notice by itself.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether modules are compiled by the machine's own compiler, so that its other tools (clippy) can read what it made.
    pub(crate) fn has_own_compiler(&self) -> bool {
        self.compiler.is_none()
    }

    /// Makes a call of cargo compile for [`TARGET`], in the workspace at `root`.
    ///
    /// Flags from outside are replaced: those for this machine's processor do not fit a module. Paths of this machine are kept
    /// out of the result, so that the same source gives the same module everywhere.
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

    /// The variable with which anybody's cargo finds it for [`TARGET`], and for no other target. `None`: it is found without one, or
    /// belongs to another compiler than the machine's own, and authors' builds are skipped.
    pub(crate) fn variable(&self) -> Option<(&'static str, String)> {
        let needed = self.has_own_compiler() && !self.flags.is_empty();
        needed.then(|| ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", self.flags.join(" ")))
    }

    fn in_toolchain(way: Way, rustc: &Rustc) -> Self {
        Self {
            way,
            identity: format!("{} in {}", rustc.line, rustc.sysroot.display()),
            flags: Vec::new(),
            compiler: None,
        }
    }

    fn from_source(entry: &Entry) -> Self {
        Self {
            way: Way::DebianSource,
            identity: format!("{} {}", entry.dir.display(), entry.id),
            flags: debian_source::flags(&entry.dir),
            compiler: None,
        }
    }

    fn from_debian_rust(machine: &Rustc, entry: &Entry) -> Result<Self, Error> {
        let (rustc, flags) = debian_rust::compiler(machine, &entry.dir)?;
        let libraries = rustc.libraries.unwrap_or_default();
        Ok(Self {
            way: Way::DebianRust,
            identity: format!("{} {}", entry.dir.display(), entry.id),
            flags,
            compiler: Some((rustc.program, libraries)),
        })
    }
}

/// Finds a standard library, or makes one.
pub(crate) fn ensure() -> Result<WasmStd, Error> {
    let rustc = Rustc::of_this_machine()?;
    let (found, made_from) = search(&rustc, Allowed::from_env()?)?;
    say(format_args!("{TARGET} standard library: step {}, {}{made_from}", found.way.number(), found.way));
    Ok(found)
}

/// The ways in their order; what was built before is looked for first, since it costs nothing.
fn search(rustc: &Rustc, allowed: Allowed) -> Result<(WasmStd, String), Error> {
    let mut attempts = Vec::new();
    if allowed.allows(Way::Installed) {
        if rustc.has_target() {
            return Ok((WasmStd::in_toolchain(Way::Installed, rustc), String::new()));
        }
        let reason = format!("`{}` has none in `{}`", rustc.line, rustc.sysroot.display());
        attempts.push(Attempt { way: Way::Installed, reason });
    }
    let store = Store::open()?;
    if let Some(found) = kept(rustc, &store, allowed) {
        return Ok(found);
    }
    if allowed.allows(Way::Rustup) {
        match rustup::add(rustc) {
            Ok(()) => return Ok((WasmStd::in_toolchain(Way::Rustup, rustc), String::new())),
            Err(error) => attempts.push(Attempt { way: Way::Rustup, reason: error.to_string() }),
        }
    }
    if allowed.allows(Way::DebianSource) || allowed.allows(Way::DebianRust) {
        let workshop = store.lock()?;
        // Another process may have made it while this one waited.
        if let Some(found) = kept(rustc, &store, allowed) {
            return Ok(found);
        }
        if let Some(found) = make(rustc, &store, &workshop, allowed, &mut attempts) {
            return Ok(found);
        }
    }
    Err(Error::NoWasmStd { attempts })
}

/// What was built before.
fn kept(rustc: &Rustc, store: &Store, allowed: Allowed) -> Option<(WasmStd, String)> {
    if allowed.allows(Way::DebianSource)
        && let Some(entry) = store.get(&debian_source::entry_name(rustc))
    {
        return Some((WasmStd::from_source(&entry), origin(&entry)));
    }
    if allowed.allows(Way::DebianRust)
        && let Some(entry) = store.get(&debian_rust::entry_name(rustc))
    {
        // One that no longer runs is made again.
        return Some((WasmStd::from_debian_rust(rustc, &entry).ok()?, origin(&entry)));
    }
    None
}

/// Builds one.
fn make(
    rustc: &Rustc,
    store: &Store,
    workshop: &Workshop<'_>,
    allowed: Allowed,
    attempts: &mut Vec<Attempt>,
) -> Option<(WasmStd, String)> {
    say(format_args!("the {TARGET} standard library for `{}` is missing and will be built", rustc.line));
    if allowed.allows(Way::DebianSource) {
        match debian_source::make(rustc, store, workshop) {
            Ok(entry) => return Some((WasmStd::from_source(&entry), origin(&entry))),
            Err(error) => attempts.push(Attempt { way: Way::DebianSource, reason: error.to_string() }),
        }
    }
    if allowed.allows(Way::DebianRust) {
        let made = debian_rust::make(rustc, store, workshop)
            .and_then(|entry| Ok((WasmStd::from_debian_rust(rustc, &entry)?, origin(&entry))));
        match made {
            Ok(found) => return Some(found),
            Err(error) => attempts.push(Attempt { way: Way::DebianRust, reason: error.to_string() }),
        }
    }
    None
}

fn origin(entry: &Entry) -> String {
    format!(", {} ({})", entry.made_from, entry.dir.display())
}
