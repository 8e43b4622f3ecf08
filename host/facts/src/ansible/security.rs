//! The state of FIPS mode, SELinux and AppArmor.

use serde_json::{Map, Value, json};

use super::os_release::assignments;
use crate::gathering::Collector;
use crate::source::Source;

const SELINUX: &str = "/sys/fs/selinux";

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    match source.number("/proc/sys/crypto/fips_enabled") {
        // A kernel that was built without FIPS mode has no such file.
        Err(reason) if reason.is_missing() => gathering.set("fips", false),
        found => gathering.keep_as("fips", found.map(|value| value == 1)),
    }
    let apparmor = source.exists("/sys/kernel/security/apparmor");
    gathering.set("apparmor", json!({"status": if apparmor { "enabled" } else { "disabled" }}));
    gathering.set("selinux", selinux(source));
}

/// Returns the state of SELinux. A kernel that has it active also has its filesystem mounted.
///
/// The configuration file takes effect only at the next boot.
fn selinux(source: &Source) -> Map<String, Value> {
    let mut told = Map::new();
    if !source.exists(&format!("{SELINUX}/enforce")) {
        told.insert("status".to_owned(), "disabled".into());
        return told;
    }
    let configuration = assignments(source, "/etc/selinux/config").unwrap_or_default();
    let configured = |key: &str| configuration.get(key).map_or_else(|| "unknown".to_owned(), Clone::clone);
    let mode = match source.number(&format!("{SELINUX}/enforce")) {
        Ok(1) => "enforcing",
        Ok(0) => "permissive",
        _ => "unknown",
    };
    let version = source.number(&format!("{SELINUX}/policyvers")).map_or_else(|_| "unknown".into(), Value::from);
    for (key, value) in [
        ("status", "enabled".into()),
        ("policyvers", version),
        ("config_mode", configured("SELINUX").into()),
        ("mode", mode.into()),
        ("type", configured("SELINUXTYPE").into()),
    ] {
        told.insert(key.to_owned(), value);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn selinux_in_force_tells_kernel_and_configuration() {
        let tree = Tree::new();
        assert_eq!(Value::from(selinux(&Source::new(tree.root()))), json!({"status": "disabled"}));
        tree.file("/sys/fs/selinux/enforce", "0");
        tree.file("/sys/fs/selinux/policyvers", "33");
        tree.file("/etc/selinux/config", "# a comment\nSELINUX=enforcing\nSELINUXTYPE=targeted\n");
        assert_eq!(
            Value::from(selinux(&Source::new(tree.root()))),
            json!({"status": "enabled", "policyvers": 33, "config_mode": "enforcing", "mode": "permissive", "type": "targeted"})
        );
    }
}
