//! Programs of others that tests are held against, from Debian's packages: unpacked into the cache, nothing is installed on the system.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt::Apt;
use crate::error::Error;
use crate::lock::Lock;
use crate::mirrors::Mirrors;
use crate::paths;
use crate::process;
use crate::report::say;
use crate::skip;

/// A program that tests need.
struct Tool {
    /// The package that has it.
    package: &'static str,
    /// Where in the package.
    program: &'static str,
    /// The variable that tells the tests where the program is.
    variable: &'static str,
    what: &'static str,
    /// What is skipped without it.
    tests: &'static str,
}

const TOOLS: [Tool; 2] = [
    Tool {
        package: "docker-registry",
        program: "usr/bin/docker-registry",
        variable: "PLUMBLINE_DOCKER_REGISTRY",
        what: "a registry",
        tests: "tests against a real registry",
    },
    Tool {
        package: "skopeo",
        program: "usr/bin/skopeo",
        variable: "PLUMBLINE_SKOPEO",
        what: "a tool that copies images",
        tests: "tests that others can read what is pushed",
    },
];

/// Where the running system says which release of Debian it is.
const OS_RELEASE: &str = "/etc/os-release";
/// A library may need further ones, and these again; the deepest chain so far has three.
const MAX_ROUNDS: usize = 12;

/// The variables that tell the tests where the programs are: of those that are named already, in our cache, or unpacked there now. One
/// that cannot be had is left out, with the reason told: the tests then say that they are skipped.
pub(crate) fn ensure() -> Vec<(&'static str, OsString)> {
    TOOLS.iter().filter_map(|tool| Some((tool.variable, tool.ensure()?))).collect()
}

impl Tool {
    fn ensure(&self) -> Option<OsString> {
        skip::program(self.variable, self.what, self.tests, || self.in_cache())
    }

    fn in_cache(&self) -> Result<PathBuf, Error> {
        let os = Path::new(OS_RELEASE);
        let suite = codename(&fs::read_to_string(os).map_err(Error::io("read", os))?)
            .ok_or_else(|| Error::unexpected(format!("{OS_RELEASE} names no release of Debian")))?;
        let tools = paths::cache()?.join("tools");
        let root = tools.join(format!("{}-debian-{suite}", self.package));
        let program = root.join("bin").join(self.package);
        let _lock = Lock::take(&tools)?;
        if !program.is_file() {
            say(format_args!("unpacking Debian's package {}, {}, into {}", self.package, self.what, root.display()));
            if let Err(error) = self.install(&root, &suite) {
                // Half an installation would be taken for a whole one the next time.
                let _ = fs::remove_dir_all(&root);
                return Err(error);
            }
        }
        Ok(program)
    }

    fn install(&self, root: &Path, suite: &str) -> Result<(), Error> {
        let (apt_dir, unpacked, libraries) = (root.join("apt"), root.join("unpacked"), root.join("lib"));
        let bin = root.join("bin");
        for dir in [&apt_dir, &unpacked, &libraries, &bin] {
            fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
        }
        let mirrors = Mirrors::of_this_machine(&apt_dir.join("no-lists"))?;
        let apt = Apt::open(&apt_dir.join("state"), &mirrors, &[suite])?;
        apt.unpack(&[self.package], &unpacked)?;
        let program = unpacked.join(self.program);
        if !missing(&program, &libraries)?.is_empty() {
            self.add_libraries(&apt, &program, &root.join("packages"), &libraries)?;
        }
        fs::remove_dir_all(&apt_dir).map_err(Error::io("remove", &apt_dir))?;
        // Last: it is what says that all is there.
        let start = bin.join(self.package);
        fs::write(&start, script(&program, &libraries)?).map_err(Error::io("write", &start))?;
        process::output(Command::new("chmod").arg("755").arg(&start)).map(drop)
    }

    /// Only those libraries that the system does not have: its own fit its own loader.
    fn add_libraries(&self, apt: &Apt, program: &Path, packages: &Path, libraries: &Path) -> Result<(), Error> {
        let known: BTreeSet<String> = apt.closure(self.package)?.into_iter().collect();
        fs::create_dir_all(packages).map_err(Error::io("create", packages))?;
        for _ in 0..MAX_ROUNDS {
            let wanted = missing(program, libraries)?;
            if wanted.is_empty() {
                return fs::remove_dir_all(packages).map_err(Error::io("remove", packages));
            }
            let none = |name: &str| {
                Error::unexpected(format!("{} needs {name}, which none of Debian's packages for it has", self.package))
            };
            for name in wanted {
                let package = package_names(&name).into_iter().find(|package| known.contains(package));
                apt.unpack(&[package.ok_or_else(|| none(&name))?], packages)?;
                let from = find(packages, &name)?.ok_or_else(|| none(&name))?;
                // Through its links: the file under the name that is looked for.
                fs::copy(&from, libraries.join(&name)).map_err(Error::io("copy", &from))?;
            }
        }
        Err(Error::unexpected(format!("{} needs libraries that need libraries without end", self.package)))
    }
}

/// How Debian calls the package of a library: `libgpgme.so.11` is in `libgpgme11`, or `libgpgme11t64` since times have 64 bits.
fn package_names(library: &str) -> Vec<String> {
    let Some((name, version)) = library.split_once(".so.") else { return Vec::new() };
    let name = name.to_ascii_lowercase().replace('_', "-");
    let dash = if name.ends_with(|last: char| last.is_ascii_digit()) { "-" } else { "" };
    let plain = format!("{name}{dash}{version}");
    vec![format!("{plain}t64"), plain]
}

/// The name of the release in `os-release`, where the system is Debian.
fn codename(os_release: &str) -> Option<String> {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    let name = value("VERSION_CODENAME").filter(|_| value("ID").as_deref() == Some("debian"))?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    plain.then_some(name)
}

/// The libraries that neither the system nor `libraries` has.
fn missing(program: &Path, libraries: &Path) -> Result<BTreeSet<String>, Error> {
    let mut command = Command::new("ldd");
    command.env("LC_ALL", "C").env("LD_LIBRARY_PATH", libraries).arg(program);
    // It fails for a program without any, which is well.
    let output = command.output().map_err(|source| process::not_started(&command, source))?;
    Ok(not_found(&String::from_utf8_lossy(&output.stdout)))
}

/// The names in lines such as `libgpgme.so.11 => not found`.
fn not_found(printed: &str) -> BTreeSet<String> {
    let name = |line: &str| Some(line.trim().strip_suffix("=> not found")?.trim().to_owned());
    printed.lines().filter_map(name).filter(|name| !name.contains('/')).collect()
}

/// The file of that name below `dir`.
fn find(dir: &Path, name: &str) -> Result<Option<PathBuf>, Error> {
    for entry in fs::read_dir(dir).map_err(Error::io("read", dir))? {
        let entry = entry.map_err(Error::io("read", dir))?;
        let path = entry.path();
        if entry.file_name() == name && path.is_file() {
            return Ok(Some(path));
        }
        // Not through links: they may lead out of what was unpacked.
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(found) = find(&path, name)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Starts the program with its libraries, and only it: tests and what they start keep the system's.
fn script(program: &Path, libraries: &Path) -> Result<String, Error> {
    let quoted = |path: &Path| match path.to_str() {
        Some(path) if !path.contains('\'') => Ok(format!("'{path}'")),
        _ => Err(Error::unexpected(format!("{} cannot be written into a script", path.display()))),
    };
    let none = fs::read_dir(libraries).map_err(Error::io("read", libraries))?.next().is_none();
    let library_path = if none { String::new() } else { format!("LD_LIBRARY_PATH={} ", quoted(libraries)?) };
    Ok(format!("#!/bin/sh\n{library_path}exec {} \"$@\"\n", quoted(program)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_debian_has_a_suite() {
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n";
        assert_eq!(codename(debian).as_deref(), Some("bookworm"));
        assert_eq!(codename(&debian.replace("ID=debian", "ID=ubuntu")), None);
        assert_eq!(codename("ID=debian\n"), None);
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=\"../x\"\n"), None);
    }

    #[test]
    fn packages_of_libraries_are_called_as_debian_calls_them() {
        assert_eq!(package_names("libgpgme.so.11"), ["libgpgme11t64", "libgpgme11"]);
        assert_eq!(package_names("libpcre2-8.so.0"), ["libpcre2-8-0t64", "libpcre2-8-0"]);
        assert!(package_names("ld-linux").is_empty());
    }

    #[test]
    fn missing_libraries_are_seen() {
        let printed = "\
\tlinux-vdso.so.1 (0x00007fdc4eea8000)
\tlibgpgme.so.11 => not found
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fdc4ec48000)
";
        assert_eq!(not_found(printed), BTreeSet::from(["libgpgme.so.11".to_owned()]));
        assert!(not_found("\tnot a dynamic executable\n").is_empty());
    }
}
