//! Decides where the tests run: on an existing cluster, on one that this machine can start, or
//! nowhere.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::paths::Workspace;
use crate::process;

/// The directory of the test cluster's scripts, relative to the root of the checkout.
const SCRIPTS: &str = "host/e2e/cluster";
/// A controller of cgroup v1, which the scripts need.
const CGROUP: &str = "/sys/fs/cgroup/memory";
/// The files that the directory of scripts must have.
const PARTS: [&str; 2] = ["build", "cluster"];

/// The environment of the checkout.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    kubeconfig: Option<OsString>,
    image: Option<OsString>,
    binary: Option<OsString>,
    /// The directory that a variable names for the scripts.
    named: Option<PathBuf>,
    /// The directory of the scripts, if they exist.
    scripts: Option<PathBuf>,
    root: bool,
    /// Whether this user may create the namespaces of a node.
    namespaces: bool,
    cgroup_v1: bool,
    state: Option<PathBuf>,
}

impl Surroundings {
    pub(crate) fn look(workspace: &Workspace) -> Result<Self, Error> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let named = set("PLUMBLINE_TESTCLUSTER").map(PathBuf::from);
        let folder = named.clone().unwrap_or_else(|| workspace.root().join(SCRIPTS));
        let there = PARTS.iter().all(|part| folder.join(part).is_file());
        Ok(Self {
            kubeconfig: set("PLUMBLINE_E2E_KUBECONFIG"),
            image: set("PLUMBLINE_E2E_IMAGE"),
            binary: set("PLUMBLINE_E2E_BINARY"),
            named,
            scripts: there.then_some(folder),
            root: process::output(Command::new("id").arg("-u"))?.trim() == "0",
            namespaces: process::output(Command::new("unshare").args(["--net", "--mount", "--uts", "true"])).is_ok(),
            cgroup_v1: Path::new(CGROUP).is_dir(),
            // The same rule as in the scripts.
            state: set("TESTCLUSTER")
                .map(PathBuf::from)
                .or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache/plumbline-testcluster"))),
        })
    }
}

/// Where the tests run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An existing cluster, and an image that it can pull.
    Given { kubeconfig: PathBuf, image: String, binary: Option<PathBuf> },
    /// A cluster on this machine, managed by its scripts.
    Lab { scripts: PathBuf, state: PathBuf },
    /// Nowhere, with the reason.
    Nowhere(String),
}

impl Place {
    /// An existing cluster takes precedence. Setting only a part of its variables is an error:
    /// users who name a cluster do not want the tests to be skipped.
    pub(crate) fn choose(around: &Surroundings) -> Result<Self, Error> {
        match (&around.kubeconfig, &around.image) {
            (Some(kubeconfig), Some(image)) => {
                return Ok(Self::Given {
                    kubeconfig: kubeconfig.into(),
                    image: image.to_string_lossy().into_owned(),
                    binary: around.binary.as_ref().map(PathBuf::from),
                });
            }
            (Some(_), None) => {
                return Err(Error::Usage(
                    "PLUMBLINE_E2E_KUBECONFIG names a cluster, but PLUMBLINE_E2E_IMAGE no image that it can pull"
                        .to_owned(),
                ));
            }
            (None, _) => {}
        }
        match (&around.scripts, &around.named) {
            (Some(_), _) if !around.root => Ok(Self::Nowhere(
                "a cluster on this machine needs namespaces of the kernel, which only root can make".to_owned(),
            )),
            (Some(_), _) if !around.namespaces => Ok(Self::Nowhere(
                "a cluster on this machine needs namespaces of the kernel, and `unshare` may not create them"
                    .to_owned(),
            )),
            (Some(_), _) if !around.cgroup_v1 => Ok(Self::Nowhere(format!(
                "a cluster on this machine needs cgroup v1, and `{CGROUP}` is not a directory"
            ))),
            (Some(scripts), _) => match &around.state {
                Some(state) => Ok(Self::Lab { scripts: scripts.clone(), state: state.clone() }),
                None => Err(Error::NoCache),
            },
            (None, Some(named)) => {
                Err(Error::Usage(format!("PLUMBLINE_TESTCLUSTER: `{}` has no `build` and `cluster`", named.display())))
            }
            (None, None) => Ok(Self::Nowhere(format!(
                "no cluster: PLUMBLINE_E2E_KUBECONFIG is not set, and `{SCRIPTS}` has no scripts to start one"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Surroundings {
        Surroundings {
            scripts: Some("/s".into()),
            root: true,
            namespaces: true,
            cgroup_v1: true,
            state: Some("/state".into()),
            ..Surroundings::default()
        }
    }

    #[test]
    fn a_given_cluster_wins() {
        let around = Surroundings { kubeconfig: Some("/k".into()), image: Some("i:1".into()), ..machine() };
        let place = Place::choose(&around).unwrap();
        assert_eq!(place, Place::Given { kubeconfig: "/k".into(), image: "i:1".into(), binary: None });
        let place = Place::choose(&machine()).unwrap();
        assert_eq!(place, Place::Lab { scripts: "/s".into(), state: "/state".into() });
    }

    #[test]
    fn incomplete_settings_are_an_error() {
        let around = Surroundings { kubeconfig: Some("/k".into()), ..machine() };
        assert!(Place::choose(&around).unwrap_err().to_string().contains("PLUMBLINE_E2E_IMAGE"));
        let around = Surroundings { named: Some("/n".into()), scripts: None, ..machine() };
        assert!(Place::choose(&around).unwrap_err().to_string().contains("`/n`"));
    }

    #[test]
    fn a_skip_says_why() {
        let why = |around: Surroundings| match Place::choose(&around).unwrap() {
            Place::Nowhere(reason) => reason,
            place => panic!("{place:?}"),
        };
        assert!(why(Surroundings::default()).contains("PLUMBLINE_E2E_KUBECONFIG"));
        assert!(why(Surroundings { root: false, ..machine() }).contains("root"));
        assert!(why(Surroundings { namespaces: false, ..machine() }).contains("unshare"));
        assert!(why(Surroundings { cgroup_v1: false, ..machine() }).contains("cgroup v1"));
    }
}
