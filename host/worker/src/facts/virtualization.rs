//! What the machine runs on or in.

use super::gather::Gathering;
use super::source::{SMALL, Source};

/// Files that a container engine leaves in its containers.
const CONTAINER_FILES: [(&str, &str); 3] =
    [("/.dockerenv", "docker"), ("/run/.containerenv", "podman"), ("/var/run/secrets/kubernetes.io", "kubernetes")];

/// What stands in the vendor or product of the DMI table, and the hypervisor that puts it there. First match wins.
const DMI: [(&str, &str); 14] = [
    ("KVM", "kvm"),
    ("QEMU", "kvm"),
    ("Amazon EC2", "kvm"),
    ("Google", "kvm"),
    ("OpenStack", "kvm"),
    ("DigitalOcean", "kvm"),
    ("Hetzner", "kvm"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Microsoft Corporation Virtual Machine", "hyperv"),
    ("Xen", "xen"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
];

pub(super) fn gather(gathering: &mut Gathering<'_>) {
    let dmi = [&gathering.facts.host.system_vendor, &gathering.facts.host.product_name];
    let dmi: Vec<&str> = dmi.into_iter().filter_map(Option::as_deref).collect();
    let hints = hints(gathering.source, &dmi.join(" "));
    let host = &mut gathering.facts.host;
    host.virtualization_type = Some(hints.first().map_or_else(|| "none".to_owned(), |hint| hint.kind.clone()));
    host.virtualization_hints = Some(hints.into_iter().map(|hint| format!("{}: {}", hint.kind, hint.seen)).collect());
}

struct Hint {
    kind: String,
    seen: String,
}

/// Containers first: a container in a virtual machine shows both, and what surrounds it at once is what matters to a program in it.
fn hints(source: &Source, dmi: &str) -> Vec<Hint> {
    let mut hints = Vec::new();
    let mut hint = |kind: &str, seen: String| hints.push(Hint { kind: kind.to_owned(), seen });
    for (file, engine) in CONTAINER_FILES {
        if source.exists(file) {
            hint(engine, format!("{file} exists"));
        }
    }
    // Written by systemd for what it runs in; see systemd's «Container Interface».
    if let Ok(manager) = source.value("/run/systemd/container") {
        hint(word(&manager), "named in /run/systemd/container".to_owned());
    }
    if let Ok(release) = source.value("/proc/sys/kernel/osrelease")
        && release.to_ascii_lowercase().contains("microsoft")
    {
        hint("wsl", "the kernel's release names Microsoft".to_owned());
    }
    if let Ok(hypervisor) = source.value("/sys/hypervisor/type") {
        hint(word(&hypervisor), "named in /sys/hypervisor/type".to_owned());
    }
    if let Some((name, kind)) = DMI.iter().find(|(name, _)| dmi.contains(name)) {
        hint(kind, format!("the DMI table says `{name}`"));
    }
    if source.head("/proc/cpuinfo", SMALL).is_ok_and(|head| has_hypervisor_flag(&head.text)) {
        hint("hypervisor", "the processor has the flag `hypervisor`".to_owned());
    }
    hints
}

/// The first word of foreign text, which names a kind.
fn word(text: &str) -> &str {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        .next()
        .filter(|word| !word.is_empty())
        .unwrap_or("unknown")
}

fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    cpuinfo
        .lines()
        .filter_map(|line| line.strip_prefix("flags"))
        .any(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fixture::Tree;

    fn kinds(tree: &Tree, dmi: &str) -> Vec<String> {
        hints(&Source::new(tree.root()), dmi).into_iter().map(|hint| hint.kind).collect()
    }

    #[test]
    fn a_container_in_a_virtual_machine_shows_both() {
        let tree = Tree::new();
        tree.file("/.dockerenv", "");
        tree.file("/proc/cpuinfo", "processor : 0\nflags\t\t: fpu vme hypervisor lahf_lm\n");
        assert_eq!(kinds(&tree, "QEMU Standard PC (i440FX + PIIX, 1996)"), ["docker", "kvm", "hypervisor"]);
    }

    #[test]
    fn bare_metal_shows_nothing() {
        let tree = Tree::new();
        tree.file("/proc/cpuinfo", "processor : 0\nflags\t\t: fpu vme lahf_lm\nbugs : hypervisor\n");
        assert!(kinds(&tree, "Dell Inc. PowerEdge R640").is_empty());
    }

    #[test]
    fn systemd_xen_and_wsl_name_themselves() {
        let tree = Tree::new();
        tree.file("/run/systemd/container", "lxc\n");
        tree.file("/proc/sys/kernel/osrelease", "5.15.90.1-microsoft-standard-WSL2\n");
        tree.file("/sys/hypervisor/type", "xen\n");
        assert_eq!(kinds(&tree, ""), ["lxc", "wsl", "xen"]);
    }
}
