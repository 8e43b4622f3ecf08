//! The rights of a check on this machine: directories and environment variables.

use std::path::Path;

use plumbline_core::{CheckRun, MissingRight, Rights};
use plumbline_sandbox::{CheckFailure, Directory, ModuleInfo};

/// Checks that the definition grants all rights that the component needs.
pub(super) fn all_granted(check: &CheckRun, info: &ModuleInfo) -> Result<(), CheckFailure> {
    let missing = info.rights.missing(&check.grants);
    if missing.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = missing.iter().map(MissingRight::to_string).collect();
    let lines = Rights::of_missing(&missing).to_yaml();
    Err(CheckFailure::of(format!("the check needs rights that the definition does not grant: {}", list.join("; ")))
        .with("add-to-definition", Some(lines)))
}

/// Returns the granted directories that exist on this node. A missing one is logged, because a check
/// may look at what only some nodes have.
pub(super) fn directories(check: &CheckRun) -> Vec<Directory> {
    let source = |path: &String| match Directory::of_node(Path::new(&check.root), path) {
        Ok(directory) => Some(directory),
        Err(reason) => {
            tracing::info!("the check does not see the directory `{path}`: {reason}");
            None
        }
    };
    check.grants.files.iter().filter_map(source).collect()
}

/// Returns the granted variables that are set.
pub(super) fn variables(check: &CheckRun, value: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    check.grants.env.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use plumbline_core::{Definition, ModuleLimits};

    use super::*;

    fn check(grants: &str, root: &Path) -> CheckRun {
        let yaml = format!(
            "sonobuoy-config: {{driver: DaemonSet, plugin-name: p}}\nplumbline: {{component: c.wasm, grants: {grants}}}\n"
        );
        let definition = Definition::parse(&yaml).unwrap().definition;
        let mut check = CheckRun::new(&definition, "/c.wasm".into(), 1, ModuleLimits::default());
        check.root = root.display().to_string();
        check
    }

    #[test]
    fn directories_are_those_of_the_node_and_links_do_not_lead_into_the_container() {
        let node = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(node.path().join("etc/kubernetes")).unwrap();
        std::fs::create_dir_all(node.path().join("var")).unwrap();
        std::fs::write(node.path().join("etc/hostname"), "n1").unwrap();
        std::os::unix::fs::symlink("/proc", node.path().join("var/run")).unwrap();
        let grants = "{files: [/etc/kubernetes, /etc/hostname, /var/run, /var/run/self, /opt/none]}";
        let found = directories(&check(grants, node.path()));
        let source = node.path().join("etc/kubernetes");
        let root = Some(node.path().to_owned());
        assert_eq!(found, [Directory { path: "/etc/kubernetes".to_owned(), source, root }]);
    }

    #[test]
    fn on_this_machine_paths_are_what_they_are() {
        let found = directories(&check("{files: [/proc/self, /no/such/directory]}", Path::new("")));
        assert_eq!(found, [Directory { path: "/proc/self".to_owned(), source: "/proc/self".into(), root: None }]);
    }

    #[test]
    fn only_granted_variables_are_seen() {
        let check = check("{env: [LEVEL, ABSENT]}", Path::new(""));
        let value = |name: &str| ["LEVEL", "SECRET"].contains(&name).then(|| "1".to_owned());
        assert_eq!(variables(&check, value), [("LEVEL".to_owned(), "1".to_owned())]);
    }
}
