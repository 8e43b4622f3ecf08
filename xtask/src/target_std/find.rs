//! Selects the way to get a standard library, and how to compile with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rustc::Rustc;
use super::store::{Entry, Store, Workshop};
use super::target::Target;
use super::way::{Allowed, Attempt, StdSource};
use super::{debian_rust, debian_source, rustup};
use crate::error::Error;
use crate::paths;
use crate::report::print_status;

/// A standard library that is ready for use.
#[derive(Debug)]
pub(crate) struct TargetStd {
    target: Target,
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

impl TargetStd {
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

    /// Returns the flags with which the compiler finds the library.
    pub(crate) fn flags(&self) -> &[String] {
        &self.flags
    }

    /// Sets up a cargo command to compile modules, in the workspace at `root`.
    ///
    /// Flags from the environment are replaced, because those for this machine's processor do not
    /// fit a module.
    pub(crate) fn apply(&self, command: &mut Command, root: &Path) {
        let mut flags = self.flags.clone();
        flags.push(SIMD.to_owned());
        flags.extend(paths::remapped(root));
        command.args(["--target", self.target.triple]).env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        if let Some((program, libraries)) = &self.compiler {
            command.env("RUSTC", program).env("LD_LIBRARY_PATH", libraries);
        }
    }

    /// Returns the variable with which any cargo finds the standard library for its target only.
    ///
    /// Returns `None` if cargo finds it without a variable. Also returns `None` if it belongs to
    /// another compiler than the machine's own, and the builds of authors are skipped.
    pub(crate) fn variable(&self) -> Option<(String, String)> {
        let needed = self.has_own_compiler() && !self.flags.is_empty();
        needed.then(|| (self.target.flags_variable(), self.flags.join(" ")))
    }

    fn in_toolchain(way: StdSource, rustc: &Rustc, target: Target) -> Self {
        Self {
            target,
            way,
            identity: format!("{} in {}", rustc.line, rustc.sysroot.display()),
            flags: Vec::new(),
            compiler: None,
        }
    }

    fn from_source(entry: &Entry, target: Target) -> Self {
        Self {
            target,
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
            target: Target::MODULE,
            way: StdSource::DebianRust,
            identity: format!("{} {}", entry.dir.display(), entry.id),
            flags,
            compiler: Some((rustc.program, libraries)),
        })
    }
}

/// Finds a standard library, or builds one.
pub(crate) fn ensure(target: Target) -> Result<TargetStd, Error> {
    let rustc = Rustc::of_this_machine()?;
    let (found, made_from) = search(&rustc, target, Allowed::from_env()?)?;
    let (triple, way) = (target.triple, found.way);
    print_status(format_args!("{triple} standard library: step {}, {way}{made_from}", way.number()));
    Ok(found)
}

/// Tries the ways in order. Earlier builds come first, because they cost nothing.
fn search(rustc: &Rustc, target: Target, allowed: Allowed) -> Result<(TargetStd, String), Error> {
    let mut attempts = Vec::new();
    if allowed.allows(StdSource::Installed) {
        if rustc.has_target(target) {
            return Ok((TargetStd::in_toolchain(StdSource::Installed, rustc, target), String::new()));
        }
        let reason = format!("`{}` has none in `{}`", rustc.line, rustc.sysroot.display());
        attempts.push(Attempt { way: StdSource::Installed, reason });
    }
    let store = Store::open(target)?;
    if let Some(found) = kept(rustc, target, &store, allowed) {
        return Ok(found);
    }
    if allowed.allows(StdSource::Rustup) {
        match rustup::add(rustc, target) {
            Ok(()) => return Ok((TargetStd::in_toolchain(StdSource::Rustup, rustc, target), String::new())),
            Err(error) => attempts.push(Attempt { way: StdSource::Rustup, reason: error.to_string() }),
        }
    }
    if allowed.allows(StdSource::DebianSource) || allowed.allows(StdSource::DebianRust) {
        let workshop = store.lock()?;
        // Another process may have built it while this one waited.
        if let Some(found) = kept(rustc, target, &store, allowed) {
            return Ok(found);
        }
        if let Some(found) = make(rustc, target, &store, &workshop, allowed, &mut attempts) {
            return Ok(found);
        }
    }
    Err(Error::NoTargetStd { target: target.triple, attempts })
}

/// Returns an earlier build.
fn kept(rustc: &Rustc, target: Target, store: &Store, allowed: Allowed) -> Option<(TargetStd, String)> {
    if allowed.allows(StdSource::DebianSource)
        && let Some(entry) = store.get(&debian_source::entry_name(rustc, target))
    {
        return Some((TargetStd::from_source(&entry, target), origin(&entry)));
    }
    if target == Target::MODULE
        && allowed.allows(StdSource::DebianRust)
        && let Some(entry) = store.get(&debian_rust::entry_name(rustc))
    {
        // Rebuild one that no longer runs.
        return Some((TargetStd::from_debian_rust(rustc, &entry).ok()?, origin(&entry)));
    }
    None
}

/// Builds a standard library.
fn make(
    rustc: &Rustc,
    target: Target,
    store: &Store,
    workshop: &Workshop<'_>,
    allowed: Allowed,
    attempts: &mut Vec<Attempt>,
) -> Option<(TargetStd, String)> {
    print_status(format_args!(
        "the {} standard library for `{}` is missing and will be built",
        target.triple, rustc.line
    ));
    if allowed.allows(StdSource::DebianSource) {
        match debian_source::make(rustc, target, store, workshop) {
            Ok(entry) => return Some((TargetStd::from_source(&entry, target), origin(&entry))),
            Err(error) => attempts.push(Attempt { way: StdSource::DebianSource, reason: error.to_string() }),
        }
    }
    // Only modules may come from another compiler than the rest of the program.
    if target == Target::MODULE && allowed.allows(StdSource::DebianRust) {
        let made = debian_rust::make(rustc, store, workshop)
            .and_then(|entry| Ok((TargetStd::from_debian_rust(rustc, &entry)?, origin(&entry))));
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
