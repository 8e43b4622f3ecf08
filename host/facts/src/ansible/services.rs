//! The service manager and the package manager.

use crate::gathering::Collector;
use crate::source::Source;

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

/// Names of first processes that Ansible reports under another name.
const FIRST_PROCESSES: [(&str, &str); 4] =
    [("procd", "openwrt_init"), ("runit-init", "runit"), ("svscan", "svc"), ("openrc-init", "openrc")];

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let packages = package_manager(source, gathering.text("os_family"));
    gathering.set("pkg_mgr", packages);
    gathering.set("service_mgr", service_manager(source));
}

fn package_manager(source: &Source, family: &str) -> &'static str {
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

/// Returns the service manager, by the name of the first process.
///
/// Two names say nothing: `init` has many implementations, and a shell means that this is a
/// container.
fn service_manager(source: &Source) -> String {
    let first = source.value("/proc/1/comm").ok().or_else(|| source.link_name("/sbin/init"));
    let first = first.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned());
    if let Some(name) = first.filter(|name| !name.is_empty() && name != "init" && !name.ends_with("sh")) {
        return FIRST_PROCESSES.iter().find(|(known, _)| *known == name).map_or(name, |(_, other)| (*other).to_owned());
    }
    let init_is_systemd = || source.link_name("/sbin/init").as_deref() == Some("systemd");
    let manager = if source.exists("/run/systemd/system") || init_is_systemd() {
        "systemd"
    } else if source.exists("/sbin/openrc") {
        "openrc"
    } else if source.exists("/etc/init.d") {
        "sysvinit"
    } else if source.exists("/etc/dinit.d") {
        "dinit"
    } else {
        "service"
    };
    manager.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn the_first_process_tells_unless_it_is_anything() {
        let tree = Tree::new();
        let manager = |tree: &Tree| service_manager(&Source::new(tree.root()));
        assert_eq!(manager(&tree), "service");
        tree.file("/proc/1/comm", "init\n");
        tree.file("/sbin/openrc", "");
        assert_eq!(manager(&tree), "openrc");
        tree.file("/proc/1/comm", "bash\n");
        tree.directory("/run/systemd/system");
        assert_eq!(manager(&tree), "systemd");
        tree.file("/proc/1/comm", "runit-init\n");
        assert_eq!(manager(&tree), "runit");
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
}
