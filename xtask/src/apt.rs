//! Downloads and unpacks Debian packages without installing them, through a private apt with its
//! own state.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::mirrors::{Archive, Mirrors};
use crate::process;
use crate::report::print_status;

/// The keys of Debian's archives, from the package `debian-archive-keyring`. If the file is
/// missing, apt uses its own trusted keys.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// An apt that knows only the given suites and keeps all its state in one directory.
#[derive(Debug)]
pub(crate) struct Apt {
    dir: PathBuf,
}

impl Apt {
    /// Fetches the package lists of `suites` into `dir`, which is created if missing. It uses the
    /// first of the machine's mirrors that has them.
    ///
    /// apt uses the machine's proxies, credentials and trusted keys. The machine's sources and
    /// state are not changed.
    pub(crate) fn open(dir: &Path, mirrors: &Mirrors, suites: &[&str]) -> Result<Self, Error> {
        let mut sources = String::new();
        let mut places: Vec<Vec<String>> = Vec::new();
        for suite in suites {
            let archive = Archive::of(suite);
            let of_suite = mirrors.of(archive);
            if of_suite.is_empty() {
                return Err(Error::NoMirror { wanted: archive.name() });
            }
            places.push(of_suite.iter().map(|mirror| source(mirror, suite)).collect());
        }
        // Try the n-th mirror of each archive, or its last one if it has fewer.
        let rounds = places.iter().map(Vec::len).max().unwrap_or_default();
        let mut last = None;
        for round in 0..rounds {
            sources.clear();
            for place in &places {
                sources.extend(place.get(round).or_else(|| place.last()).map(String::as_str));
            }
            match Self::update(dir, &sources) {
                Ok(apt) => return Ok(apt),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or(Error::NoMirror { wanted: "any suite" }))
    }

    fn update(dir: &Path, sources: &str) -> Result<Self, Error> {
        for part in ["sources.list.d", "lists/partial", "cache/archives/partial"] {
            let part = dir.join(part);
            fs::create_dir_all(&part).map_err(Error::io("create", &part))?;
        }
        let file = dir.join("sources.list.d/plumbline.sources");
        fs::write(&file, sources).map_err(Error::io("write", &file))?;
        let file = dir.join("apt.conf");
        fs::write(&file, configuration(dir)).map_err(Error::io("write", &file))?;
        let apt = Self { dir: dir.to_path_buf() };
        process::output(apt.command("apt-get").args(["-qq", "update"]))?;
        Ok(apt)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        command.arg("-c").arg(self.dir.join("apt.conf"));
        command
    }

    /// Returns the versions of a package, newest first; none if the package does not exist.
    pub(crate) fn versions(&self, package: &str) -> Result<Vec<String>, Error> {
        let printed = process::output(self.command("apt-cache").args(["madison", package]))?;
        Ok(madison_versions(&printed))
    }

    /// Returns all packages that `package` needs, directly or indirectly, including itself.
    pub(crate) fn closure(&self, package: &str) -> Result<Vec<String>, Error> {
        let mut command = self.command("apt-cache");
        command.args(["depends", "--recurse", "--important", package]);
        Ok(closure_names(&process::output(&mut command)?))
    }

    /// Downloads packages (`NAME` or `NAME=VERSION`), prints the size of the download, and unpacks
    /// them into `into`.
    pub(crate) fn unpack<S: AsRef<OsStr>>(&self, packages: &[S], into: &Path) -> Result<(), Error> {
        let downloads = self.dir.join("downloads");
        fs::create_dir_all(&downloads).map_err(Error::io("create", &downloads))?;
        let uris = process::output(self.command("apt-get").args(["-q", "--print-uris", "download"]).args(packages))?;
        let (count, size) = download_size(&uris);
        print_status(format_args!("downloading {count} Debian packages, {} MiB", size.div_ceil(1 << 20)));
        let mut command = self.command("apt-get");
        process::output(command.current_dir(&downloads).args(["-q", "download"]).args(packages))?;

        let read = Error::io("read", &downloads);
        let mut files = fs::read_dir(&downloads)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>())
            .map_err(read)?;
        files.sort();
        for file in &files {
            process::output(Command::new("dpkg-deb").arg("--extract").arg(file).arg(into))?;
        }
        fs::remove_dir_all(&downloads).map_err(Error::io("remove", &downloads))
    }
}

/// Returns a source in apt's format for one suite of one mirror.
fn source(mirror: &str, suite: &str) -> String {
    let keys = if Path::new(KEYRING).is_file() { format!("Signed-By: {KEYRING}\n") } else { String::new() };
    format!("Types: deb\nURIs: {mirror}\nSuites: {suite}\nComponents: main\n{keys}\n")
}

/// Returns the configuration that apt reads after the machine's own.
fn configuration(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        r#"Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "{dir}/sources.list.d";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "{dir}/lists";
// Nothing counts as installed.
Dir::State::Status "/dev/null";
Dir::Cache "{dir}/cache";
Dir::Cache::Archives "archives/";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
// The directory may be out of reach for apt's own user.
APT::Sandbox::User "root";
// A suite that cannot be fetched is an error, not a warning.
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
// The hooks of the system's own updates must not run here.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"#
    )
}

/// Returns whether a version of a Debian package is this upstream release: `1.95.0+dfsg1-2` is
/// release `1.95.0`, but not `1.95`.
pub(crate) fn is_release(version: &str, release: &str) -> bool {
    let without_epoch = version.split_once(':').map_or(version, |(_, rest)| rest);
    without_epoch
        .strip_prefix(release)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', '-']) || rest.starts_with("~bpo"))
}

/// Returns the second column of `NAME | VERSION | SOURCE`.
fn madison_versions(printed: &str) -> Vec<String> {
    let version = |line: &str| line.split('|').nth(1).map(|version| version.trim().to_owned());
    printed.lines().filter_map(version).collect()
}

/// Returns the names on unindented lines, each of which starts a package. Dependencies are
/// indented, virtual packages are in angle brackets, and packages of other architectures have a
/// colon.
fn closure_names(printed: &str) -> Vec<String> {
    let is_name = |line: &&str| !line.is_empty() && !line.starts_with([' ', '<', '|']) && !line.contains(':');
    printed.lines().filter(is_name).map(str::to_owned).collect()
}

/// Returns the number of packages and bytes, from lines such as `'URI' FILE SIZE HASH`.
fn download_size(printed: &str) -> (usize, u64) {
    let size = |line: &str| line.strip_prefix('\'')?.split_whitespace().nth(2)?.parse::<u64>().ok();
    printed.lines().filter_map(size).fold((0, 0), |(count, total), size| (count + 1, total + size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_release_matches() {
        for version in ["1.95.0", "1.95.0+dfsg1-2~bpo13+1", "1.95.0-1", "2:1.95.0+dfsg1-2", "1.95.0~bpo13+1"] {
            assert!(is_release(version, "1.95.0"), "{version}");
        }
        for version in ["1.95.01-1", "1.95.0.1-1", "1.95-1", "1.96.0+dfsg1-1", "11.95.0-1", "1.95.0~rc1-1", ""] {
            assert!(!is_release(version, "1.95.0"), "{version}");
        }
        assert!(!is_release("1.97.0+dfsg1-1", "1.97.0-nightly"));
    }

    #[test]
    fn versions_are_read_in_order() {
        let printed = "\
  rust-src | 1.96.1+dfsg1-2~bpo13+1 | http://mirror.example.org/debian trixie-backports/main amd64 Packages
  rust-src | 1.95.0+dfsg1-2~bpo13+1 | http://mirror.example.org/debian trixie-backports/main amd64 Packages
";
        assert_eq!(madison_versions(printed), ["1.96.1+dfsg1-2~bpo13+1", "1.95.0+dfsg1-2~bpo13+1"]);
        assert!(madison_versions("").is_empty());
    }

    #[test]
    fn a_closure_has_real_packages_only() {
        let printed = "\
rustc-web
  Depends: libc6
 |Depends: gcc
  Depends: <c-compiler>
    clang
libc6
<c-compiler>
libllvm22
libc6:i386
";
        assert_eq!(closure_names(printed), ["rustc-web", "libc6", "libllvm22"]);
    }

    #[test]
    fn sizes_are_added_up() {
        let printed = "\
'http://mirror.example.org/a.deb' a.deb 1000 SHA256:00
'http://mirror.example.org/b.deb' b.deb 24 SHA256:00
";
        assert_eq!(download_size(printed), (2, 1024));
    }
}
