//! The families into which Ansible groups distributions.

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

/// Returns the family of a distribution. One without a family is its own.
pub(super) fn family(distribution: &str) -> &str {
    FAMILIES.iter().find(|(_, members)| members.contains(&distribution)).map_or(distribution, |(family, _)| family)
}

/// Ansible's names of distributions, by the `ID` of `os-release(5)`. A distribution that is not
/// listed keeps its own name.
pub(super) const NAMES: [(&str, &str); 29] = [
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
