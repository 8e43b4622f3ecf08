//! Step 3: the standard library, built by the machine's own compiler from Debian's source of the
//! same Rust version.

use std::path::Path;

use super::rustc::Rustc;
use super::store::{Entry, Store, Workshop};
use super::target::Target;
use super::{build, smoke};
use crate::apt::{self, Apt};
use crate::error::Error;
use crate::mirrors::Mirrors;
use crate::report::print_status;

/// The suites and packages with Debian's source of Rust, most likely first.
const PLACES: [(&str, &str); 3] =
    [("trixie-backports", "rust-src"), ("bookworm-security", "rust-web-src"), ("sid", "rust-src")];

/// Returns the name of the entry in the store.
pub(super) fn entry_name(rustc: &Rustc, target: Target) -> String {
    if target == Target::MODULE { rustc.slug() } else { format!("{}-{}", rustc.slug(), target.triple) }
}

/// Returns the compiler flags that use the entry.
pub(super) fn flags(sysroot: &Path) -> Vec<String> {
    vec![format!("--sysroot={}", sysroot.display())]
}

/// Makes the entry.
pub(super) fn make(rustc: &Rustc, target: Target, store: &Store, workshop: &Workshop<'_>) -> Result<Entry, Error> {
    let scratch = workshop.scratch()?;
    let unpacked = scratch.path().join("source");
    let name = entry_name(rustc, target);
    let package = fetch(rustc, scratch.path(), &unpacked, &store.place(&name))?;
    let library = build::find_library(&unpacked)?;
    let sysroot = scratch.path().join("sysroot");
    let work = scratch.path().join("empty");
    build::standard_library(rustc, target, &library, &work, &sysroot)?;
    smoke::test(rustc, target, &flags(&sysroot), &work)?;
    workshop.keep(&sysroot, &name, &package, &[&target.libraries(Path::new(""))])
}

/// Unpacks the source of the compiler's version. Returns package and version.
fn fetch(rustc: &Rustc, scratch: &Path, unpacked: &Path, place: &Path) -> Result<String, Error> {
    let mirrors = Mirrors::of_this_machine(&scratch.join("no-lists"))?;
    let mut tried = Vec::new();
    for (suite, package) in PLACES {
        let found = Apt::open(&scratch.join(suite), &mirrors, &[suite]).and_then(|apt| {
            let versions = apt.versions(package)?;
            Ok((apt, versions.into_iter().find(|version| apt::is_release(version, &rustc.release))))
        });
        match found {
            Ok((apt, Some(version))) => {
                print_status(format_args!(
                    "step 3: {package} {version} from Debian ({suite}); nothing is installed on the system, what is built \
                     from it goes to {} (150 MiB)",
                    place.display()
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
