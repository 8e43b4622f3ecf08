//! Finds the Debian mirrors that this machine uses, with the help of apt.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::process;

/// Debian's releases that still get packages, and the aliases of releases, as suites are named.
const RELEASES: [&str; 11] = [
    "buster",
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "sid",
    "unstable",
    "testing",
    "stable",
    "oldstable",
    "oldoldstable",
];

/// An archive of Debian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Archive {
    /// The main archive: releases, their updates and backports.
    Main,
    /// The security archive: the suites named `RELEASE-security`.
    Security,
}

impl Archive {
    /// Returns the archive that has `suite`.
    pub(crate) fn of(suite: &str) -> Self {
        if suite.ends_with("-security") { Self::Security } else { Self::Main }
    }

    /// Returns the name for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Main => "the main archive",
            Self::Security => "the security archive",
        }
    }
}

/// The Debian mirrors in this machine's package sources, as the `URIs` of a source.
#[derive(Debug)]
pub(crate) struct Mirrors {
    main: Vec<String>,
    security: Vec<String>,
}

impl Mirrors {
    /// Asks `apt-get` what it would fetch for the machine's own sources without any package lists,
    /// as in a fresh container. `lists` is used as the directory of package lists, and is created
    /// if missing.
    pub(crate) fn of_this_machine(lists: &Path) -> Result<Self, Error> {
        let partial = lists.join("partial");
        fs::create_dir_all(&partial).map_err(Error::io("create", &partial))?;
        let mut option = OsString::from("Dir::State::Lists=");
        option.push(lists);
        let printed = process::output(
            Command::new("apt-get").env("LC_ALL", "C").arg("-o").arg(option).args(["update", "--print-uris"]),
        )?;
        Ok(Self::parse(&printed))
    }

    /// Returns the mirrors of an archive, best first.
    pub(crate) fn of(&self, archive: Archive) -> &[String] {
        match archive {
            Archive::Main => &self.main,
            Archive::Security => &self.security,
        }
    }

    /// Parses lines such as `'http://HOST/debian/dists/SUITE/InRelease' FILE 0`.
    ///
    /// Third parties also publish packages for Debian's releases, under suites with the same names.
    /// Only Debian's own mirrors have a suite `RELEASE-updates`, so these come first. A wrong
    /// mirror is detected later, because it does not have Debian's signature.
    fn parse(printed: &str) -> Self {
        let mut suites: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in printed.lines() {
            let quoted = line.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).map(|(uri, _)| uri);
            let place = quoted.and_then(|uri| uri.strip_suffix("/InRelease")).and_then(|uri| uri.split_once("/dists/"));
            if let Some((base, suite)) = place {
                suites.entry(base).or_default().push(suite);
            }
        }
        let having = |suffix: &str| -> Vec<String> {
            let has = |suites: &[&str]| {
                suites.iter().any(|suite| suite.strip_suffix(suffix).is_some_and(|release| RELEASES.contains(&release)))
            };
            suites.iter().filter(|(_, suites)| has(suites)).map(|(base, _)| (*base).to_owned()).collect()
        };
        let mut main = having("-updates");
        let others: Vec<String> = having("").into_iter().filter(|base| !main.contains(base)).collect();
        main.extend(others);
        Self { main, security: having("-security") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_mirrors_are_distinguished_from_others() {
        let printed = "\
'https://apt.example.com/linux/debian/dists/bookworm/InRelease' apt.example.com_dists_bookworm_InRelease 0 
'http://mirror.example.org/debian/dists/bookworm/InRelease' mirror_bookworm_InRelease 0 
'http://mirror.example.org/debian/dists/bookworm-updates/InRelease' mirror_bookworm-updates_InRelease 0 
'http://mirror.example.org/debian-security/dists/bookworm-security/InRelease' security_InRelease 0 
'http://mirror.example.org/debian/dists/bookworm/main/binary-amd64/Packages.xz' mirror_Packages 0 
'https://packages.example.net/ubuntu/dists/noble/InRelease' noble_InRelease 0 
";
        let mirrors = Mirrors::parse(printed);
        assert_eq!(
            mirrors.of(Archive::of("trixie-backports")),
            ["http://mirror.example.org/debian", "https://apt.example.com/linux/debian"]
        );
        assert_eq!(mirrors.of(Archive::of("bookworm-security")), ["http://mirror.example.org/debian-security"]);
    }

    #[test]
    fn mirror_lists_of_cloud_images_are_understood() {
        let printed = "'mirror+file:/etc/apt/mirrors/debian.list/dists/trixie/InRelease' x_InRelease 0 ";
        assert_eq!(Mirrors::parse(printed).of(Archive::Main), ["mirror+file:/etc/apt/mirrors/debian.list"]);
    }

    #[test]
    fn another_distribution_has_none() {
        let printed = "'https://packages.example.net/ubuntu/dists/noble-updates/InRelease' x 0 ";
        let mirrors = Mirrors::parse(printed);
        assert!(mirrors.of(Archive::Main).is_empty() && mirrors.of(Archive::Security).is_empty());
    }
}
