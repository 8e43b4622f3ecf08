//! The distribution, with Ansible's names and version numbers, and its package manager.
//!
//! Ansible tries a sequence of files and takes the first that it can parse.
//! `distribution_file_path` and `distribution_file_variety` name that file. On everything that runs
//! Kubernetes today, names and versions follow from `os-release(5)`. Some distributions have a file
//! of their own that takes precedence (Alpine, the Red Hat family, Debian's point release), and
//! that file is read too.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::collector::{Collector, present};
use crate::source::{SMALL, Source, Unreadable};

/// The members of each family, by Ansible's name of the distribution.
const FAMILIES: [(&str, &[&str]); 5] = [
    (
        "RedHat",
        &[
            "RedHat",
            "Fedora",
            "CentOS",
            "Scientific",
            "OracleLinux",
            "Amazon",
            "AlmaLinux",
            "Rocky",
            "EulerOS",
            "openEuler",
            "EuroLinux",
            "CloudLinux",
            "Virtuozzo",
            "TencentOS",
            "Alibaba",
            "MIRACLE",
            "XenServer",
            "Kylin Linux Advanced Server",
        ],
    ),
    (
        "Debian",
        &[
            "Debian",
            "Ubuntu",
            "Raspbian",
            "Linux Mint",
            "SteamOS",
            "Devuan",
            "Kali",
            "Parrot",
            "Pop!_OS",
            "KDE neon",
            "Cumulus Linux",
            "Deepin",
            "Uos",
            "Pardus GNU/Linux",
            "OSMC",
        ],
    ),
    (
        "Suse",
        &[
            "SLES",
            "SLED",
            "SLES_SAP",
            "SL-Micro",
            "openSUSE",
            "openSUSE Leap",
            "openSUSE Tumbleweed",
            "openSUSE MicroOS",
            "ALP-Dolomite",
        ],
    ),
    ("Archlinux", &["Archlinux", "Antergos", "Manjaro"]),
    ("Gentoo", &["Gentoo", "Funtoo"]),
];

/// Ansible's names of distributions, by the `ID` of `os-release(5)`. A distribution that is not
/// listed keeps its own name.
const NAMES: [(&str, &str); 29] = [
    ("debian", "Debian"),
    ("raspbian", "Debian"),
    ("ubuntu", "Ubuntu"),
    ("linuxmint", "Linux Mint"),
    ("steamos", "SteamOS"),
    ("devuan", "Devuan"),
    ("kali", "Kali"),
    ("parrot", "Parrot"),
    ("pop", "Pop!_OS"),
    ("deepin", "Deepin"),
    ("uos", "Uos"),
    ("rhel", "RedHat"),
    ("fedora", "Fedora"),
    ("centos", "CentOS"),
    ("rocky", "Rocky"),
    ("almalinux", "AlmaLinux"),
    ("scientific", "Scientific"),
    ("ol", "OracleLinux"),
    ("amzn", "Amazon"),
    ("eurolinux", "EuroLinux"),
    ("openeuler", "openEuler"),
    ("alpine", "Alpine"),
    ("arch", "Archlinux"),
    ("archarm", "Archlinux"),
    ("manjaro", "Manjaro"),
    ("gentoo", "Gentoo"),
    ("flatcar", "Flatcar"),
    ("sles", "SLES"),
    ("altlinux", "Altlinux"),
];

/// Package managers by the path of their program. If several exist, the last one wins, as in
/// Ansible.
const PACKAGE_MANAGERS: [(&str, &str); 16] = [
    ("/usr/bin/rpm-ostree", "atomic_container"),
    ("/usr/bin/yum", "dnf"),
    ("/usr/bin/dnf-3", "dnf"),
    ("/usr/bin/dnf5", "dnf5"),
    ("/usr/bin/apt-get", "apt"),
    ("/usr/bin/zypper", "zypper"),
    ("/usr/sbin/urpmi", "urpmi"),
    ("/usr/bin/pacman", "pacman"),
    ("/bin/opkg", "opkg"),
    ("/usr/pkg/bin/pkgin", "pkgin"),
    ("/usr/local/bin/brew", "homebrew"),
    ("/sbin/apk", "apk"),
    ("/usr/bin/emerge", "portage"),
    ("/usr/bin/xbps-install", "xbps"),
    ("/usr/bin/swupd", "swupd"),
    ("/usr/sbin/sorcery", "sorcery"),
];

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

pub(super) fn gather(collector: &mut Collector<'_>) {
    let Some(found) = collector.keep("distribution", distribution(collector.source)) else { return };
    collector.set_all(present(json!({
        "os_family": family(&found.name),
        "distribution": found.name,
        "distribution_version": found.version,
        "distribution_major_version": found.major,
        "distribution_minor_version": found.minor,
        "distribution_release": found.release,
        "distribution_file_path": found.path,
        "distribution_file_variety": found.variety,
        "distribution_file_parsed": true,
        "distribution_file_search_string": found.search,
    })));
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

/// Returns the family of a distribution. One without a family is its own.
fn family(distribution: &str) -> &str {
    FAMILIES.iter().find(|(_, members)| members.contains(&distribution)).map_or(distribution, |(family, _)| family)
}

/// Gathers the description from the Linux Standard Base.
pub(super) fn linux_standard_base(collector: &mut Collector<'_>) {
    let mut lsb = lsb(collector.source);
    if let Some(release) = lsb.get("release").and_then(Value::as_str) {
        let release = major(release);
        lsb.insert("major_release".to_owned(), release.into());
    }
    collector.set("lsb", lsb);
}

fn lsb(source: &Source) -> Map<String, Value> {
    if let Ok(found) = assignments(source, "/etc/lsb-release") {
        return present(json!({
            "id": found.get("DISTRIB_ID"),
            "release": found.get("DISTRIB_RELEASE"),
            "description": found.get("DISTRIB_DESCRIPTION"),
            "codename": found.get("DISTRIB_CODENAME"),
        }));
    }
    // Otherwise Ansible calls the program, which derives its answers from `os-release(5)`.
    match os_release(source) {
        Ok((_, release)) if source.exists(LSB_RELEASE) => present(json!({
            "id": release.get("ID").map(|id| {
                let mut letters = id.chars();
                letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
            }),
            "release": release.get("VERSION_ID"),
            "description": release.get("PRETTY_NAME"),
            "codename": release.get("VERSION_CODENAME"),
        })),
        _ => Map::new(),
    }
}

/// Returns the package manager for a family of distributions.
pub(super) fn package_manager(source: &Source, family: &str) -> &'static str {
    match family {
        // If several are installed, the distribution's own package manager takes precedence.
        "Debian" => "apt",
        "RedHat" if source.exists("/run/ostree-booted") => "atomic_container",
        "RedHat" => {
            let program = ["/usr/bin/dnf", "/usr/bin/microdnf"].into_iter().find(|program| source.exists(program));
            match program {
                Some(program) if source.link_name(program).as_deref() == Some("dnf5") => "dnf5",
                Some(_) => "dnf",
                None => "unknown",
            }
        }
        _ => PACKAGE_MANAGERS.iter().rfind(|(program, _)| source.exists(program)).map_or("unknown", |(_, name)| name),
    }
}

const LSB_RELEASE: &str = "/usr/bin/lsb_release";

/// Paths of the distribution's description in order of preference, according to `os-release(5)`.
const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

/// The assignments of a file, by name.
pub(super) type Assignments = BTreeMap<String, String>;

fn os_release(source: &Source) -> Result<(&'static str, Assignments), Unreadable> {
    let [first, second] = OS_RELEASE;
    match assignments(source, first) {
        Ok(found) => Ok((first, found)),
        Err(reason) if reason.is_missing() => Ok((second, assignments(source, second)?)),
        Err(reason) => Err(reason),
    }
}

/// Returns the assignments of the file at `path`.
pub(super) fn assignments(source: &Source, path: &str) -> Result<Assignments, Unreadable> {
    let found: Assignments = source.text(path, SMALL)?.lines().filter_map(assignment).collect();
    if found.is_empty() { Err(Unreadable::malformed(path, "has no `KEY=value` line")) } else { Ok(found) }
}

/// Parses a shell assignment without expansions. Returns `None` for comments and other lines.
fn assignment(line: &str) -> Option<(String, String)> {
    let (key, value) = line.trim().split_once('=')?;
    let is_name = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then(|| (key.to_owned(), unquote(value)))
}

/// Removes quotes from a value as a shell does. A backslash escapes the next character, except
/// between single quotes.
fn unquote(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut quote = None;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => plain.extend(chars.next()),
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    fn facts_of(files: &[(&str, &str)]) -> [String; 7] {
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
            facts_of(&[
                (os, "ID=debian\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"),
                ("/etc/debian_version", "12.11\n"),
            ]),
            ["Debian", "12.11", "12", "11", "bookworm", os, "Debian"]
        );
        assert_eq!(
            facts_of(&[
                (os, "ID=\"rhel\"\nNAME=\"Red Hat Enterprise Linux\"\nVERSION=\"8.9 (Ootpa)\"\nVERSION_ID=\"8.9\"\n"),
                ("/etc/redhat-release", "Red Hat Enterprise Linux release 8.9 (Ootpa)\n"),
            ]),
            ["RedHat", "8.9", "8", "", "Ootpa", "/etc/redhat-release", "RedHat"]
        );
        assert_eq!(
            facts_of(&[(os, "ID=\"sles\"\nNAME=\"SLES\"\nVERSION_ID=\"15.5\"\n")]),
            ["SLES", "15.5", "15", "", "5", os, "SUSE"]
        );
        assert_eq!(
            facts_of(&[(os, "ID=bottlerocket\nNAME=Bottlerocket\nVERSION_ID=1.20.0\n")]),
            ["Bottlerocket", "1.20.0", "1", "", "NA", os, "NA"]
        );
    }

    #[test]
    fn families_are_ansibles() {
        for (distribution, want) in [
            ("Ubuntu", "Debian"),
            ("Rocky", "RedHat"),
            ("openSUSE Leap", "Suse"),
            ("Alpine", "Alpine"),
            ("Flatcar", "Flatcar"),
            ("Talos", "Talos"),
        ] {
            assert_eq!(family(distribution), want);
        }
    }

    #[test]
    fn lsb_release_takes_precedence_and_its_program_enables_os_release() {
        let tree = Tree::new();
        tree.file("/etc/os-release", "ID=debian\nVERSION_ID=12\nPRETTY_NAME='Debian 12'\nVERSION_CODENAME=bookworm\n");
        assert_eq!(lsb(&Source::new(tree.root())), Map::new());
        tree.file(LSB_RELEASE, "");
        let want = json!({"id": "Debian", "release": "12", "description": "Debian 12", "codename": "bookworm"});
        assert_eq!(Value::from(lsb(&Source::new(tree.root()))), want);
        tree.file("/etc/lsb-release", "DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=22.04\n");
        assert_eq!(Value::from(lsb(&Source::new(tree.root()))), json!({"id": "Ubuntu", "release": "22.04"}));
    }

    #[test]
    fn the_distributions_own_package_manager_counts() {
        let tree = Tree::new();
        tree.file("/usr/bin/dnf5", "");
        tree.link("/usr/bin/dnf", "dnf5");
        let source = Source::new(tree.root());
        assert_eq!(package_manager(&source, "RedHat"), "dnf5");
        assert_eq!(package_manager(&source, "Debian"), "apt");
        assert_eq!(package_manager(&source, "Flatcar"), "dnf5");
        tree.file("/sbin/apk", "");
        assert_eq!(package_manager(&source, "Alpine"), "apk");
    }

    #[test]
    fn values_are_read_as_a_shell_reads_them() {
        for (line, value) in [
            ("NAME=Debian", "Debian"),
            (r#"NAME="Red Hat Enterprise Linux""#, "Red Hat Enterprise Linux"),
            ("NAME='Alpine Linux'", "Alpine Linux"),
            (r#"NAME="A \"quoted\" \$name""#, r#"A "quoted" $name"#),
            (r"NAME='back\slash'", r"back\slash"),
            ("NAME=", ""),
            (r#"NAME="a=b""#, "a=b"),
        ] {
            assert_eq!(assignment(line), Some(("NAME".to_owned(), value.to_owned())), "{line}");
        }
        for line in ["# NAME=x", "", "NAME", "=x", "a b=c"] {
            assert_eq!(assignment(line), None, "{line}");
        }
    }
}
