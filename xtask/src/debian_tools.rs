//! External programs that tests compare with, from Debian packages. They are unpacked into the
//! cache; nothing is installed on the system.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt::Apt;
use crate::error::Error;
use crate::mirrors::Mirrors;
use crate::process;
use crate::tools;

/// A program that tests need.
struct Tool {
    /// The package that contains it.
    package: &'static str,
    /// Packages with files that it needs next to it.
    data: &'static [&'static str],
    /// The path of the program in the package.
    program: &'static str,
    /// The variable that passes the program's path to the tests.
    variable: &'static str,
    what: &'static str,
    /// The tests that are skipped without it.
    tests: &'static str,
}

const TOOLS: [Tool; 3] = [
    Tool {
        package: "docker-registry",
        data: &[],
        program: "usr/bin/docker-registry",
        variable: "PLUMBLINE_DOCKER_REGISTRY",
        what: "a registry",
        tests: "tests against a real registry",
    },
    Tool {
        package: "skopeo",
        data: &[],
        program: "usr/bin/skopeo",
        variable: "PLUMBLINE_SKOPEO",
        what: "a tool that copies images",
        tests: "tests that others can read what is pushed",
    },
    Tool {
        package: "prometheus",
        data: &[],
        program: "usr/bin/promtool",
        variable: "PLUMBLINE_PROMTOOL",
        what: "Prometheus's linter",
        tests: "tests that Prometheus reads the metrics",
    },
];

/// Not one of the tools of the tests of the workspace: only the tests in a browser need it.
const CHROMIUM: Tool = Tool {
    package: "chromium-headless-shell",
    data: &["chromium-common"],
    program: "usr/lib/chromium/chromium-headless-shell",
    variable: "PLUMBLINE_CHROMIUM",
    what: "a browser",
    tests: "tests of the HTML report in a browser",
};

/// The file with the system's Debian release.
const OS_RELEASE: &str = "/etc/os-release";
/// Maximum number of rounds, because a library may need others. The longest chain so far has three.
const MAX_ROUNDS: usize = 12;

/// Returns skopeo, or `None` with the reason printed.
pub(crate) fn skopeo() -> Option<OsString> {
    TOOLS.iter().find(|tool| tool.package == "skopeo").and_then(Tool::ensure)
}

/// Returns Chromium: the one of its variable or in `PATH`, or else Debian's. `None` with the reason
/// printed.
pub(crate) fn chromium() -> Option<OsString> {
    tools::program(CHROMIUM.variable, CHROMIUM.what, CHROMIUM.tests, || {
        ["chromium-headless-shell", "chromium"]
            .iter()
            .find_map(|name| tools::in_path(name))
            .map_or_else(|| CHROMIUM.in_cache(), Ok)
    })
}

/// Returns the variables that pass the programs' paths to the tests. A program comes from its
/// variable if that is set, then from the cache, and is otherwise unpacked now.
///
/// Programs that are not available are left out, with the reason printed. The tests then report
/// that they are skipped.
pub(crate) fn ensure() -> Vec<(&'static str, OsString)> {
    TOOLS.iter().filter_map(|tool| Some((tool.variable, tool.ensure()?))).collect()
}

impl Tool {
    fn ensure(&self) -> Option<OsString> {
        tools::program(self.variable, self.what, self.tests, || self.in_cache())
    }

    fn in_cache(&self) -> Result<PathBuf, Error> {
        let os = Path::new(OS_RELEASE);
        let suite = codename(&fs::read_to_string(os).map_err(Error::io("read", os))?)
            .ok_or_else(|| Error::unexpected(format!("{OS_RELEASE} names no release of Debian")))?;
        let name = format!("{}-debian-{suite}", self.package);
        let program = format!("bin/{}", self.package);
        let doing = format!("unpacking Debian's package {}, {},", self.package, self.what);
        Ok(tools::in_cache(&name, &program, doing, |root| self.install(root, &suite))?.join(program))
    }

    fn install(&self, root: &Path, suite: &str) -> Result<(), Error> {
        let (apt_dir, unpacked, libraries) = (root.join("apt"), root.join("unpacked"), root.join("lib"));
        let bin = root.join("bin");
        for dir in [&apt_dir, &unpacked, &libraries, &bin] {
            fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
        }
        let mirrors = Mirrors::of_this_machine(&apt_dir.join("no-lists"))?;
        let apt = Apt::open(&apt_dir.join("state"), &mirrors, &[suite])?;
        apt.unpack(&[&[self.package], self.data].concat(), &unpacked)?;
        let program = unpacked.join(self.program);
        if !missing(&program, &libraries)?.is_empty() {
            self.add_libraries(&apt, &program, &root.join("packages"), &libraries)?;
        }
        fs::remove_dir_all(&apt_dir).map_err(Error::io("remove", &apt_dir))?;
        // Write the start script last: it marks the installation as complete.
        let start = bin.join(self.package);
        fs::write(&start, script(&program, &libraries)?).map_err(Error::io("write", &start))?;
        process::output(Command::new("chmod").arg("755").arg(&start)).map(drop)
    }

    /// Adds only the libraries that the system does not have, because its own fit its own loader.
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
                // A private library is in the package of the library that needs it.
                if find(packages, &name)?.is_none() {
                    let package = package_of(&name, &known).ok_or_else(|| none(&name))?;
                    apt.unpack(&[package], packages)?;
                }
                let from = find(packages, &name)?.ok_or_else(|| none(&name))?;
                // Copy the target of links, under the name that the loader looks for.
                fs::copy(&from, libraries.join(&name)).map_err(Error::io("copy", &from))?;
            }
        }
        Err(Error::unexpected(format!("{} needs libraries that need libraries without end", self.package)))
    }
}

/// Returns the one of the `known` packages that has a library. Some have a letter at the end of their
/// names: `libvorbis.so.0` is in `libvorbis0a`.
fn package_of(library: &str, known: &BTreeSet<String>) -> Option<String> {
    let names = package_names(library);
    let exact = names.iter().find(|name| known.contains(*name)).cloned();
    let with_letter = |package: &&String| {
        let rest = names.last().and_then(|plain| package.strip_prefix(plain.as_str()));
        rest.is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_lowercase()))
    };
    exact.or_else(|| known.iter().find(with_letter).cloned())
}

/// Returns the possible names of a library's Debian package. `libgpgme.so.11` is in `libgpgme11`,
/// or in `libgpgme11t64` since the change to 64-bit time.
fn package_names(library: &str) -> Vec<String> {
    let Some((name, version)) = library.split_once(".so.") else { return Vec::new() };
    let name = name.to_ascii_lowercase().replace('_', "-");
    let dash = if name.ends_with(|last: char| last.is_ascii_digit()) { "-" } else { "" };
    let plain = format!("{name}{dash}{version}");
    vec![format!("{plain}t64"), plain]
}

/// Returns the codename of the release in `os-release`, if the system is Debian.
fn codename(os_release: &str) -> Option<String> {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    let name = value("VERSION_CODENAME").filter(|_| value("ID").as_deref() == Some("debian"))?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    plain.then_some(name)
}

/// Returns the libraries that neither the system nor `libraries` has.
fn missing(program: &Path, libraries: &Path) -> Result<BTreeSet<String>, Error> {
    let mut command = Command::new("ldd");
    command.env("LC_ALL", "C").env("LD_LIBRARY_PATH", libraries).arg(program);
    // `ldd` fails for a static program, which needs no libraries.
    let output = command.output().map_err(|source| process::not_started(&command, source))?;
    Ok(not_found(&String::from_utf8_lossy(&output.stdout)))
}

/// Returns the names in lines such as `libgpgme.so.11 => not found`.
fn not_found(printed: &str) -> BTreeSet<String> {
    let name = |line: &str| Some(line.trim().strip_suffix("=> not found")?.trim().to_owned());
    printed.lines().filter_map(name).filter(|name| !name.contains('/')).collect()
}

/// Finds the file with this name below `dir`.
fn find(dir: &Path, name: &str) -> Result<Option<PathBuf>, Error> {
    for entry in fs::read_dir(dir).map_err(Error::io("read", dir))? {
        let entry = entry.map_err(Error::io("read", dir))?;
        let path = entry.path();
        if entry.file_name() == name && path.is_file() {
            return Ok(Some(path));
        }
        // Do not follow links, which may lead out of the unpacked package.
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Some(found) = find(&path, name)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns a script that starts the program with its libraries. Tests and the programs that they
/// start keep those of the system.
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
        let known = BTreeSet::from(["libvorbis0a", "libvorbisenc2"].map(str::to_owned));
        assert_eq!(package_of("libvorbis.so.0", &known).as_deref(), Some("libvorbis0a"));
        assert_eq!(package_of("libvorbis.so.1", &known), None);
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
