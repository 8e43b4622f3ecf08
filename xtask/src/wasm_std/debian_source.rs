//! Step 3: the standard library, built by the machine's own compiler from Debian's source of the
//! same Rust version.

use std::path::Path;

use super::rustc::{Rustc, target_libraries};
use super::store::{Entry, Store, Workshop};
use super::{build, smoke};
use crate::apt::{self, Apt};
use crate::error::Error;
use crate::mirrors::Mirrors;
use crate::report::say;

/// The suites and packages with Debian's source of Rust, most likely first.
const PLACES: [(&str, &str); 3] =
    [("trixie-backports", "rust-src"), ("bookworm-security", "rust-web-src"), ("sid", "rust-src")];

/// Returns the name of the entry in the store.
pub(super) fn entry_name(rustc: &Rustc) -> String {
    rustc.slug()
}

/// Returns the compiler flags that use the entry.
pub(super) fn flags(sysroot: &Path) -> Vec<String> {
    vec![format!("--sysroot={}", sysroot.display())]
}

/// Makes the entry.
pub(super) fn make(rustc: &Rustc, store: &Store, workshop: &Workshop<'_>) -> Result<Entry, Error> {
    let scratch = workshop.scratch()?;
    let unpacked = scratch.path().join("source");
    let package = fetch(rustc, scratch.path(), &unpacked, store)?;
    let library = build::find_library(&unpacked)?;
    let sysroot = scratch.path().join("sysroot");
    let work = scratch.path().join("empty");
    build::standard_library(rustc, &library, &work, &sysroot)?;
    smoke::test(rustc, &flags(&sysroot), &work)?;
    workshop.keep(&sysroot, &entry_name(rustc), &package, &[&target_libraries(Path::new(""))])
}

/// Unpacks the source of the compiler's version. Returns package and version.
fn fetch(rustc: &Rustc, scratch: &Path, unpacked: &Path, store: &Store) -> Result<String, Error> {
    let mirrors = Mirrors::of_this_machine(&scratch.join("no-lists"))?;
    let mut tried = Vec::new();
    for (suite, package) in PLACES {
        let found = Apt::open(&scratch.join(suite), &mirrors, &[suite]).and_then(|apt| {
            let versions = apt.versions(package)?;
            Ok((apt, versions.into_iter().find(|version| apt::is_release(version, &rustc.release))))
        });
        match found {
            Ok((apt, Some(version))) => {
                say(format_args!(
                    "step 3: {package} {version} from Debian ({suite}); nothing is installed on the system, what is built \
                     from it goes to {} (150 MiB)",
                    store.place(&entry_name(rustc)).display()
                ));
                apt.unpack(&[format!("{package}={version}")], unpacked)?;
                return Ok(format!("{package} {version}"));
            }
            Ok((_, None)) => tried.push(format!("{suite}: no {package} of that version")),
            Err(error) => tried.push(format!("{suite}: {error}")),
        }
    }
    Err(Error::NoPackage { wanted: format!("source of Rust {}", rustc.release), tried })
}
