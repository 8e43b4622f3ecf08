//! A cluster on this machine, managed by its scripts.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::interrupt::Interrupt;
use crate::error::Error;
use crate::lock::Lock;
use crate::report::print_status;

/// The file with the versions of Kubernetes, one per line.
const VERSIONS: &str = "versions";

/// The scripts and their state directory. Only one process at a time may use them.
#[derive(Debug)]
pub(crate) struct Scripts {
    dir: PathBuf,
    state: PathBuf,
    /// The version of Kubernetes. Without one, the scripts choose it.
    kubernetes: Option<String>,
    /// The variable `CLUSTER`, with which the scripts start a second cluster next to the first.
    name: Option<String>,
    _lock: Lock,
}

impl Scripts {
    pub(crate) fn new(dir: &Path, state: PathBuf) -> Result<Self, Error> {
        let lock = Lock::take(&state)?;
        let name = env::var("CLUSTER").ok().filter(|name| !name.is_empty());
        Ok(Self { dir: dir.to_path_buf(), state, kubernetes: None, name, _lock: lock })
    }

    /// Returns the scripts for another version of Kubernetes.
    pub(crate) fn with_kubernetes(self, version: Option<String>) -> Self {
        Self { kubernetes: version, ..self }
    }

    /// Returns the versions of Kubernetes that the tests support.
    pub(crate) fn versions(&self) -> Result<Vec<String>, Error> {
        let list = self.dir.join(VERSIONS);
        let text = fs::read_to_string(&list).map_err(Error::io("read", &list))?;
        Ok(text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect())
    }

    /// Returns the version of Kubernetes: that which was chosen, or the newest.
    pub(crate) fn kubernetes(&self) -> Result<String, Error> {
        match &self.kubernetes {
            Some(version) => Ok(version.clone()),
            None => Ok(self.versions()?.pop().unwrap_or_default()),
        }
    }

    /// Builds the missing parts of the cluster, and what `also` names: `suite` for the images of
    /// the conformance suite, `kwok` for simulated nodes.
    pub(crate) fn build(&self, also: Option<&str>, interrupt: &Interrupt) -> Result<(), Error> {
        print_status("preparing a Kubernetes for tests (about 15 minutes the first time)");
        interrupt.run(self.script("build").args(also))
    }

    /// Returns the directory with the files of suites other than the conformance suite.
    fn suites(&self) -> PathBuf {
        self.state.join("suites")
    }

    /// Returns the archives with the images of the conformance suite, and of other suites.
    fn suite(&self) -> Result<Vec<PathBuf>, Error> {
        let version = self.kubernetes()?;
        let mut archives: Vec<PathBuf> = Vec::new();
        for dir in [self.state.join(format!("suite-{version}")), self.suites()] {
            let files = fs::read_dir(&dir).map_err(Error::io("read", &dir))?;
            archives.extend(files.flatten().map(|file| file.path()));
        }
        archives.retain(|path| path.extension().is_some_and(|extension| extension == "tar"));
        archives.sort();
        Ok(archives)
    }

    /// Returns the directory with the state of a running cluster's processes.
    fn run_dir(&self) -> PathBuf {
        self.state.join(format!("run{}", self.name.as_deref().unwrap_or_default()))
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new(self.dir.join(name));
        // The scripts print on stdout, which is reserved for results here.
        command.env("TESTCLUSTER", &self.state).stdin(Stdio::null()).stdout(Stdio::from(std::io::stderr()));
        if let Some(version) = &self.kubernetes {
            command.env("K8S", version);
        }
        command
    }

    fn cluster(&self, args: &[&str]) -> Command {
        let mut command = self.script("cluster");
        command.args(args);
        command
    }
}

/// A running cluster. Dropping the value stops it, unless it was running before or is to be kept.
#[derive(Debug)]
pub(crate) struct Lab<'a> {
    scripts: &'a Scripts,
    stays: bool,
}

impl<'a> Lab<'a> {
    /// Starts a control plane without nodes, which runs as long as this value lives.
    pub(crate) fn control_plane(scripts: &'a Scripts, interrupt: &Interrupt) -> Result<Self, Error> {
        if nodes_alive(&scripts.run_dir(), Path::new("/proc")) > 0 {
            return Err(Error::Usage(
                "a cluster for tests is up already; `host/e2e/cluster/cluster down` ends it".to_owned(),
            ));
        }
        Self::start(scripts, "cp", interrupt)
    }

    /// Starts the cluster, or uses the one that is already running.
    pub(crate) fn up(scripts: &'a Scripts, nodes: u32, keep: bool, interrupt: &Interrupt) -> Result<Self, Error> {
        let alive = nodes_alive(&scripts.run_dir(), Path::new("/proc"));
        if alive > 0 {
            print_status(format_args!("using the cluster that is up already (nodes: {alive}); it stays up"));
            if alive < nodes {
                print_status(format_args!(
                    "warning: it has fewer nodes than {nodes}: tests that need more are skipped"
                ));
            }
            return Ok(Self { scripts, stays: true });
        }
        let mut lab = Self::start(scripts, &nodes.to_string(), interrupt)?;
        lab.stays = keep;
        Ok(lab)
    }

    fn start(scripts: &'a Scripts, shape: &str, interrupt: &Interrupt) -> Result<Self, Error> {
        if scripts.run_dir().exists() {
            print_status("clearing away what is left of a cluster that is gone");
            interrupt.run(&mut scripts.cluster(&["down"]))?;
        }
        // Create the value before the cluster starts, so that a partly started cluster is stopped
        // too.
        let lab = Self { scripts, stays: false };
        interrupt.run(&mut scripts.cluster(&["up", shape]))?;
        Ok(lab)
    }

    /// Loads an image into every node.
    pub(crate) fn load(&self, archive: &Path, interrupt: &Interrupt) -> Result<(), Error> {
        interrupt.run(self.scripts.cluster(&["load"]).arg(archive))
    }

    /// Pushes an image to the cluster's registries.
    pub(crate) fn push(&self, archive: &Path, interrupt: &Interrupt) -> Result<(), Error> {
        interrupt.run(self.scripts.cluster(&["push"]).arg(archive))
    }

    /// Pushes the images of the conformance suite.
    pub(crate) fn push_suite(&self, interrupt: &Interrupt) -> Result<(), Error> {
        self.scripts.suite()?.iter().try_for_each(|archive| self.push(archive, interrupt))
    }

    /// Returns a command that runs inside the cluster's network.
    pub(crate) fn inside(&self, program: &Path) -> Command {
        let mut command = self.scripts.cluster(&["ns"]);
        command.arg(program);
        command
    }

    /// Returns the command line that runs a command on a node. Append the node's number, from 1,
    /// and the command.
    pub(crate) fn node_command(&self) -> String {
        format!("{} node", self.scripts.dir.join("cluster").display())
    }

    /// Returns the path of Sonobuoy's program, whose image the nodes have.
    pub(crate) fn sonobuoy(&self) -> PathBuf {
        self.scripts.state.join("sonobuoy")
    }

    /// Returns the path of the program that post-processes results with Sonobuoy's library.
    pub(crate) fn postprocess(&self) -> PathBuf {
        self.scripts.state.join("sonobuoy-postprocess")
    }

    /// Returns the directory with the files of suites other than the conformance suite.
    pub(crate) fn suites(&self) -> PathBuf {
        self.scripts.suites()
    }

    /// Returns the path of the serving certificate of the first node's kubelet.
    pub(crate) fn kubelet_certificate(&self) -> PathBuf {
        self.scripts.run_dir().join("pki/kubelet-serving1.crt")
    }

    /// Returns the path of the program that simulates nodes.
    pub(crate) fn kwok(&self) -> PathBuf {
        self.scripts.state.join("kwok")
    }

    /// Returns the path of the administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        let suffix = self.scripts.name.as_ref().map(|name| format!("-{name}")).unwrap_or_default();
        self.scripts.state.join(format!("kubeconfig{suffix}"))
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        if self.stays {
            return;
        }
        print_status("taking the cluster down");
        // Use a process group of its own, so that a second Ctrl-C does not leave the cluster half
        // stopped.
        match self.scripts.cluster(&["down"]).process_group(0).status() {
            Ok(status) if status.success() => {}
            Ok(status) => print_status(format_args!("warning: the cluster could not be taken down: {status}")),
            Err(error) => print_status(format_args!("warning: the cluster could not be taken down: {error}")),
        }
    }
}

/// Returns the number of running nodes of a cluster. For each node, a file holds the PID of the
/// process that holds its namespaces.
fn nodes_alive(run: &Path, proc: &Path) -> u32 {
    let pids = run.join("pids");
    let node = |number: &u32| fs::read_to_string(pids.join(format!("holder{number}"))).ok();
    let lives = |pid: String| !pid.trim().is_empty() && proc.join(pid.trim()).exists();
    let alive = (1..).map_while(|number| node(&number)).filter(|pid| lives(pid.clone())).count();
    u32::try_from(alive).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_script::write_script;

    #[test]
    fn only_nodes_that_live_count() {
        let dir = tempfile::tempdir().unwrap();
        let (run, proc) = (dir.path().join("run"), dir.path().join("proc"));
        assert_eq!(nodes_alive(&run, &proc), 0);
        fs::create_dir_all(run.join("pids")).unwrap();
        fs::create_dir_all(proc.join("11")).unwrap();
        fs::create_dir_all(proc.join("13")).unwrap();
        for (number, pid) in [(1, "11\n"), (2, "12\n"), (3, "13\n")] {
            fs::write(run.join(format!("pids/holder{number}")), pid).unwrap();
        }
        assert_eq!(nodes_alive(&run, &proc), 2);
        fs::write(run.join("pids/holder1"), "").unwrap();
        assert_eq!(nodes_alive(&run, &proc), 1);
    }

    /// Creates scripts that record their arguments.
    fn scripts(dir: &Path, up: &str) -> Scripts {
        let script = format!("echo \"$@\" >> {}/asked\ncase $1 in up) {up};; esac", dir.display());
        write_script(&dir.join("cluster"), &script);
        Scripts::new(dir, dir.join("state")).unwrap()
    }

    fn asked(dir: &Path) -> String {
        fs::read_to_string(dir.join("asked")).unwrap_or_default()
    }

    #[test]
    fn a_cluster_goes_down_also_when_it_did_not_come_up() {
        let dir = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::catch().unwrap();
        let scripts = scripts(dir.path(), "exit 1");
        assert!(Lab::up(&scripts, 3, true, &interrupt).is_err());
        assert_eq!(asked(dir.path()), "up 3\ndown\n");
    }

    #[test]
    fn a_cluster_that_is_kept_stays_and_one_that_was_there_too() {
        let dir = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::catch().unwrap();
        let scripts = scripts(dir.path(), "exit 0");
        drop(Lab::up(&scripts, 1, true, &interrupt).unwrap());
        assert_eq!(asked(dir.path()), "up 1\n");
        let pids = dir.path().join("state/run/pids");
        fs::create_dir_all(&pids).unwrap();
        fs::write(pids.join("holder1"), std::process::id().to_string()).unwrap();
        drop(Lab::up(&scripts, 1, false, &interrupt).unwrap());
        assert_eq!(asked(dir.path()), "up 1\n");
        // Its processes are gone: the remains are removed first.
        fs::write(pids.join("holder1"), "").unwrap();
        drop(Lab::up(&scripts, 1, false, &interrupt).unwrap());
        assert_eq!(asked(dir.path()), "up 1\ndown\nup 1\ndown\n");
    }
}
