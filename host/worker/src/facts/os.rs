//! The machine's name, its kernel and its distribution.

use std::collections::BTreeMap;

use super::gather::Gathering;
use super::source::{SMALL, Source, Unreadable};

/// Where `os-release(5)` says the description of the distribution stands, in the order of preference.
const OS_RELEASE: [&str; 2] = ["/etc/os-release", "/usr/lib/os-release"];

/// Distributions that Ansible gathers in a family, by the `ID` of `os-release(5)`. A distribution that is not here is looked up by
/// what its `ID_LIKE` names.
const FAMILIES: [(&str, &[&str]); 8] = [
    ("Debian", &["debian", "ubuntu", "raspbian", "linuxmint", "kali", "devuan", "pop"]),
    ("RedHat", &["rhel", "fedora", "centos", "rocky", "almalinux", "ol", "amzn", "scientific", "eurolinux"]),
    ("Suse", &["suse", "sles", "sle_hpc", "opensuse", "opensuse-leap", "opensuse-tumbleweed", "sl-micro"]),
    ("Archlinux", &["arch", "archarm", "manjaro", "antergos"]),
    ("Alpine", &["alpine"]),
    ("Gentoo", &["gentoo", "funtoo"]),
    ("Flatcar", &["flatcar", "coreos"]),
    ("NixOS", &["nixos"]),
];

pub(super) fn gather(gathering: &mut Gathering<'_>) {
    let source = gathering.source;
    let nodename = source.value("/proc/sys/kernel/hostname").or_else(|kernel| {
        // A file tree without a running kernel, such as an image, may still have been given a name.
        source.value("/etc/hostname").map_err(|_| kernel)
    });
    let nodename = gathering.keep("hostname", nodename);
    gathering.facts.host.hostname = nodename.as_deref().and_then(|name| name.split('.').next()).map(str::to_owned);
    gathering.facts.host.nodename = nodename;
    gathering.facts.host.system = gathering.keep("system", source.value("/proc/sys/kernel/ostype"));
    gathering.facts.host.kernel = gathering.keep("kernel", source.value("/proc/sys/kernel/osrelease"));
    gathering.facts.host.kernel_version = gathering.keep("kernel_version", source.value("/proc/sys/kernel/version"));
    gathering.facts.host.architecture = Some(architecture(source));
    gathering.facts.host.fips = match source.number("/proc/sys/crypto/fips_enabled") {
        // A kernel that was built without FIPS mode has no such file.
        Err(reason) if reason.is_missing() => Some(false),
        found => gathering.keep("fips", found).map(|value| value != 0),
    };
    let release = os_release(source);
    if let Some(release) = gathering.keep("distribution", release) {
        let id = release.get("ID").map_or("linux", String::as_str);
        let host = &mut gathering.facts.host;
        host.distribution = Some(release.get("NAME").cloned().unwrap_or_else(|| "Linux".to_owned()));
        host.distribution_id = Some(id.to_owned());
        host.distribution_version = release.get("VERSION_ID").cloned();
        host.distribution_release = release.get("VERSION_CODENAME").cloned();
        let like = release.get("ID_LIKE").map_or("", String::as_str);
        host.os_family = family(id, like).map(str::to_owned).or_else(|| host.distribution.clone());
    }
}

/// Kernels from 6.1 on tell it in a file; others only by a call, whose answer holds for every root of this machine.
fn architecture(source: &Source) -> String {
    source
        .value("/proc/sys/kernel/arch")
        .unwrap_or_else(|_| rustix::system::uname().machine().to_string_lossy().into_owned())
}

fn family(id: &str, like: &str) -> Option<&'static str> {
    std::iter::once(id).chain(like.split_ascii_whitespace()).find_map(|candidate| {
        FAMILIES.iter().find(|(_, members)| members.contains(&candidate)).map(|(family, _)| *family)
    })
}

fn os_release(source: &Source) -> Result<BTreeMap<String, String>, Unreadable> {
    let [first, second] = OS_RELEASE;
    let (path, text) = match source.text(first, SMALL) {
        Ok(text) => (first, text),
        Err(reason) if reason.is_missing() => (second, source.text(second, SMALL)?),
        Err(reason) => return Err(reason),
    };
    let release: BTreeMap<_, _> = text.lines().filter_map(assignment).collect();
    if release.is_empty() { Err(Unreadable::malformed(path, "holds no `KEY=value` line")) } else { Ok(release) }
}

/// One line of `os-release(5)`: a shell assignment without expansions. Comments and other lines are none.
fn assignment(line: &str) -> Option<(String, String)> {
    let (key, value) = line.trim().split_once('=')?;
    let is_name = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then(|| (key.to_owned(), unquote(value)))
}

/// What a shell makes of the value: quotes are taken away, a backslash keeps the next character (between single quotes, itself).
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

    #[test]
    fn families_are_found_by_id_and_by_likeness() {
        assert_eq!(family("ubuntu", "debian"), Some("Debian"));
        assert_eq!(family("rocky", "rhel centos fedora"), Some("RedHat"));
        assert_eq!(family("my-own", "something rhel"), Some("RedHat"));
        assert_eq!(family("opensuse-leap", "suse opensuse"), Some("Suse"));
        assert_eq!(family("talos", ""), None);
    }
}
