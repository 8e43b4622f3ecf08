//! The distribution, with Ansible's names and version numbers.
//!
//! Ansible tries a sequence of files and takes the first that it can parse.
//! `distribution_file_path` and `distribution_file_variety` name that file. On everything that runs
//! Kubernetes today, names and versions follow from `os-release(5)`. Some distributions have a file
//! of their own that takes precedence (Alpine, the Red Hat family, Debian's point release), and
//! that file is read too.

use super::family::{NAMES, family};
use super::os_release::{Assignments, os_release};
use crate::gathering::Collector;
use crate::source::{Source, Unreadable};

/// A distribution as Ansible describes it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Distribution {
    name: String,
    version: String,
    major: String,
    minor: Option<String>,
    release: String,
    path: String,
    variety: String,
    search: Option<&'static str>,
}

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let found = distribution(gathering.source);
    let Some(found) = gathering.keep("distribution", found) else { return };
    gathering.set("os_family", family(&found.name));
    gathering.set("distribution", found.name);
    gathering.set("distribution_version", found.version);
    gathering.set("distribution_major_version", found.major);
    if let Some(minor) = found.minor {
        gathering.set("distribution_minor_version", minor);
    }
    gathering.set("distribution_release", found.release);
    gathering.set("distribution_file_path", found.path);
    gathering.set("distribution_file_variety", found.variety);
    gathering.set("distribution_file_parsed", true);
    if let Some(search) = found.search {
        gathering.set("distribution_file_search_string", search);
    }
}

fn distribution(source: &Source) -> Result<Distribution, Unreadable> {
    let (path, release) = os_release(source)?;
    let field = |key: &str| release.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let id = field("ID").unwrap_or("linux");
    let own_name = field("NAME").unwrap_or("Linux");
    let name = NAMES.iter().find(|(known, _)| *known == id).map_or(own_name, |(_, name)| name);
    let version = field("VERSION_ID").unwrap_or("NA").to_owned();
    let mut found = Distribution {
        name: name.to_owned(),
        major: major(&version),
        version,
        release: field("VERSION_CODENAME").map_or_else(|| codename(&release), str::to_owned),
        path: path.to_owned(),
        variety: name.to_owned(),
        minor: None,
        search: None,
    };
    match found.name.as_str() {
        "Debian" => debian(source, &mut found),
        // Ansible reads these in the same way as Debian.
        "Ubuntu" | "Linux Mint" | "SteamOS" | "Devuan" | "Kali" | "Parrot" | "Deepin" | "Uos" => {
            found.variety = "Debian".to_owned();
        }
        "Alpine" => alpine(source, &mut found),
        "Amazon" => {
            found.minor = Some(found.version.split('.').nth(1).unwrap_or("NA").to_owned());
        }
        _ if family(&found.name) == "RedHat" => red_hat(source, &mut found),
        _ if id.contains("suse") || id.starts_with("sle") || id.starts_with("sl-") => {
            found.name = own_name.to_owned();
            found.variety = "SUSE".to_owned();
            found.release = found.version.split_once('.').map_or("0", |(_, minor)| minor).to_owned();
        }
        "Flatcar" | "Archlinux" | "Gentoo" => {}
        // Ansible has no parser for these.
        _ => found.variety = "NA".to_owned(),
    }
    Ok(found)
}

fn major(version: &str) -> String {
    version.split('.').next().unwrap_or_default().to_owned()
}

/// Returns the text in brackets in `VERSION`, for example `Blue Onyx` in `9.4 (Blue Onyx)`, or `NA`
/// without brackets.
fn codename(release: &Assignments) -> String {
    let version = release.get("VERSION").map_or("", String::as_str);
    let inside = version.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(inside, _)| inside.trim());
    inside.filter(|name| !name.is_empty()).unwrap_or("NA").to_owned()
}

/// Adds Debian's point release, which is in a file of its own.
fn debian(source: &Source, found: &mut Distribution) {
    found.variety = "Debian".to_owned();
    let Ok(point) = source.value("/etc/debian_version") else { return };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if let Some((major, minor)) = point.split_once('.').filter(|(major, minor)| is_number(major) && is_number(minor)) {
        // The file also holds names of unreleased versions, such as `trixie/sid`. Then there is no
        // point release.
        if major == found.major {
            found.version.clone_from(&point);
        }
        found.minor = Some(minor.to_owned());
    }
}

fn alpine(source: &Source, found: &mut Distribution) {
    let path = "/etc/alpine-release";
    if let Ok(version) = source.value(path) {
        found.major = major(&version);
        found.version = version;
        found.path = path.to_owned();
    }
    found.release = "NA".to_owned();
}

/// Reads the name and version of Red Hat and its derivatives from the release file, which Ansible
/// reads first.
fn red_hat(source: &Source, found: &mut Distribution) {
    let own = [("/etc/oracle-release", "OracleLinux", "Oracle Linux"), ("/etc/redhat-release", "RedHat", "Red Hat")];
    for (path, variety, search) in own {
        let Ok(sentence) = source.value(path) else { continue };
        found.path = path.to_owned();
        found.variety = variety.to_owned();
        if sentence.contains(search) {
            found.search = Some(search);
            found.name = variety.to_owned();
        } else {
            found.name = sentence.split_ascii_whitespace().next().unwrap_or_default().to_owned();
        }
        break;
    }
    if let Ok(sentence) = source.value("/etc/centos-release")
        && sentence.contains("CentOS Stream")
    {
        found.path = "/etc/centos-release".to_owned();
        found.variety = "CentOS".to_owned();
        found.name = "CentOS".to_owned();
        found.release = "Stream".to_owned();
        found.search = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    fn told(files: &[(&str, &str)]) -> [String; 7] {
        let tree = Tree::new();
        for (path, content) in files {
            tree.file(path, content);
        }
        let found = distribution(&Source::new(tree.root())).unwrap();
        let minor = found.minor.unwrap_or_default();
        [found.name, found.version, found.major, minor, found.release, found.path, found.variety]
    }

    #[test]
    fn distributions_are_named_as_ansible_names_them() {
        let os = "/etc/os-release";
        assert_eq!(
            told(&[
                (os, "ID=debian\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"),
                ("/etc/debian_version", "12.11\n"),
            ]),
            ["Debian", "12.11", "12", "11", "bookworm", os, "Debian"]
        );
        assert_eq!(
            told(&[
                (os, "ID=\"rocky\"\nNAME=\"Rocky Linux\"\nVERSION=\"9.4 (Blue Onyx)\"\nVERSION_ID=\"9.4\"\n"),
                ("/etc/redhat-release", "Rocky Linux release 9.4 (Blue Onyx)\n"),
            ]),
            ["Rocky", "9.4", "9", "", "Blue Onyx", "/etc/redhat-release", "RedHat"]
        );
        assert_eq!(
            told(&[
                (os, "ID=\"rhel\"\nNAME=\"Red Hat Enterprise Linux\"\nVERSION=\"8.9 (Ootpa)\"\nVERSION_ID=\"8.9\"\n"),
                ("/etc/redhat-release", "Red Hat Enterprise Linux release 8.9 (Ootpa)\n"),
            ]),
            ["RedHat", "8.9", "8", "", "Ootpa", "/etc/redhat-release", "RedHat"]
        );
        assert_eq!(
            told(&[(os, "ID=\"sles\"\nNAME=\"SLES\"\nVERSION_ID=\"15.5\"\n")]),
            ["SLES", "15.5", "15", "", "5", os, "SUSE"]
        );
        assert_eq!(
            told(&[(os, "ID=bottlerocket\nNAME=Bottlerocket\nVERSION_ID=1.20.0\n")]),
            ["Bottlerocket", "1.20.0", "1", "", "NA", os, "NA"]
        );
    }
}
