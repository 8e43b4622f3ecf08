//! The binary for the image: a static one without dependencies.

use std::env::consts;
use std::path::PathBuf;
use std::process::Command;

use super::options::Options;
use crate::error::Error;
use crate::paths::Workspace;
use crate::report::say;
use crate::{process, tasks};

/// The platform of the binary, which is that of this machine. (`deploy/Containerfile` builds for
/// other platforms.)
#[derive(Debug, Clone, Copy)]
pub(crate) struct Platform {
    /// The target triple of Rust.
    triple: &'static str,
    /// The architecture in image configurations.
    pub(crate) architecture: &'static str,
}

impl Platform {
    /// Returns the platform of this machine.
    pub(crate) fn of_this_machine() -> Result<Self, Error> {
        match (consts::OS, consts::ARCH) {
            ("linux", "x86_64") => Ok(Self { triple: "x86_64-unknown-linux-gnu", architecture: "amd64" }),
            ("linux", "aarch64") => Ok(Self { triple: "aarch64-unknown-linux-gnu", architecture: "arm64" }),
            (os, arch) => Err(Error::unexpected(format!(
                "an image cannot be made on {os}/{arch}: `deploy/Containerfile` builds it with a container engine"
            ))),
        }
    }
}

/// The flag for a static binary.
const STATIC: &str = "-C target-feature=+crt-static";
/// Packs the relocations to a hundredth of their size. Every process reads them first, and a
/// waiting worker would keep them in memory.
const PACKED: &str = "-C link-arg=-Wl,-z,pack-relative-relocs";
/// The first glibc whose static binaries support packed relocations. With an older one, they crash
/// at startup.
const UNPACKS: (u32, u32) = (2, 36);

/// Returns the flags for the C library of this machine.
fn flags() -> String {
    let told = process::output(Command::new("getconf").arg("GNU_LIBC_VERSION")).unwrap_or_default();
    if version(&told).is_some_and(|version| version >= UNPACKS) {
        return format!("{STATIC} {PACKED}");
    }
    say("this machine's C library is no glibc 2.36 or later: workers of this image take 2 MiB more of memory");
    STATIC.to_owned()
}

/// Parses the version in `glibc 2.36`.
fn version(told: &str) -> Option<(u32, u32)> {
    let (major, rest) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = rest.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The program for the end-to-end tests. Cargo puts it next to the binary.
pub(crate) const DEV: &str = "plumbline-dev";

/// Builds the binary. It uses a separate target directory, because its flags differ and everything
/// would be compiled again.
pub(crate) fn build(workspace: &Workspace, platform: Platform, options: &Options) -> Result<PathBuf, Error> {
    tasks::setup(workspace)?;
    say("building the static binary");
    let mut cargo = process::cargo_locked(workspace.root(), "build");
    // With `--target`, these flags do not apply to build scripts and macros, which cannot be
    // static.
    cargo.env("RUSTFLAGS", flags()).env_remove("CARGO_ENCODED_RUSTFLAGS");
    cargo.args(["--release", "-p", "plumbline", "--target", platform.triple, "--target-dir"]).arg(workspace.image());
    if options.dev {
        // In the same build, so that cargo compiles the shared crates once.
        cargo.args(["-p", DEV]);
    }
    if !options.optimised {
        // Link-time optimization takes most of the time of a release build, and gains a few
        // percent.
        cargo.args(["--config", "profile.release.lto=\"off\""]);
    }
    process::run_talkative(&mut cargo)?;
    let binary = workspace.image().join(platform.triple).join("release/plumbline");
    // Check here that the binary starts, instead of in every pod of a cluster.
    let started = process::output(Command::new(&binary).args(["version", "--short"]));
    started.map_err(|error| Error::unexpected(format!("the static binary does not start: {error}")))?;
    Ok(binary)
}

/// Returns whether a binary starts without a loader: a 64-bit little-endian ELF file without an
/// interpreter.
pub(crate) fn is_static(elf: &[u8]) -> bool {
    /// The type of the program header that names the interpreter.
    const PT_INTERP: u32 = 3;
    let u16_at = |at: usize| elf.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_le_bytes);
    let u32_at = |at: usize| elf.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes);
    let u64_at = |at: usize| elf.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let (Some(table), Some(size), Some(count)) = (u64_at(0x20), u16_at(0x36), u16_at(0x38)) else { return false };
    (0..u64::from(count)).all(|header| {
        let at = table.checked_add(header * u64::from(size)).and_then(|at| usize::try_from(at).ok());
        at.and_then(u32_at).is_some_and(|kind| kind != PT_INTERP)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_with_a_loader_is_told_from_one_without() {
        let mut elf = vec![0; 0x40 + 0x38];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[0x20] = 0x40;
        elf[0x36] = 0x38;
        elf[0x38] = 1;
        elf[0x40] = 1;
        assert!(is_static(&elf));
        elf[0x40] = 3;
        assert!(!is_static(&elf));
        // A program header that is missing.
        elf[0x38] = 2;
        elf[0x40] = 1;
        assert!(!is_static(&elf));
        assert!(!is_static(b"#!/bin/sh\n") && !is_static(b"\x7fELF\x02\x01"));
    }

    #[test]
    fn versions_are_read_as_getconf_prints_them() {
        assert_eq!([version("glibc 2.36\n"), version("glibc 2.9.1")], [Some((2, 36)), Some((2, 9))]);
        assert_eq!([version(""), version("musl 1.2.5"), version("glibc two.36")], [None; 3]);
        assert!((2, 9) < UNPACKS && (2, 36) >= UNPACKS);
    }

    #[test]
    fn this_very_program_is_what_it_was_built_as() {
        let me = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(is_static(&me), cfg!(target_feature = "crt-static"));
    }
}
