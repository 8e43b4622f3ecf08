//! The virtualization technologies under which the machine runs, and those that it hosts.

use std::collections::BTreeSet;

use super::hardware::DMI;
use crate::collector::Collector;
use crate::source::{SMALL, Source, TABLE};

/// Firmware vendors, and the technology that each one reveals.
const BIOS_VENDORS: [(&str, &str); 6] = [
    ("Xen", "xen"),
    ("innotek GmbH", "virtualbox"),
    ("Amazon EC2", "kvm"),
    ("DigitalOcean", "kvm"),
    ("Hetzner", "kvm"),
    ("Linode", "kvm"),
];

/// Product names, and the technology that each one reveals.
const PRODUCTS: [(&str, &str); 7] = [
    ("KVM", "kvm"),
    ("KVM Server", "kvm"),
    ("Bochs", "kvm"),
    ("AHV", "kvm"),
    ("CloudStack KVM Hypervisor", "kvm"),
    ("OpenStack Compute", "openstack"),
    ("OpenStack Nova", "openstack"),
];

/// System vendors, and the technology that each one reveals.
const SYSTEM_VENDORS: [(&str, &str); 11] = [
    ("oVirt", "oVirt"),
    ("QEMU", "kvm"),
    ("Amazon EC2", "kvm"),
    ("DigitalOcean", "kvm"),
    ("Google", "kvm"),
    ("Scaleway", "kvm"),
    ("Nutanix", "kvm"),
    ("KubeVirt", "KubeVirt"),
    ("Microsoft Corporation", "VirtualPC"),
    ("Parallels Software International Inc.", "parallels"),
    ("OpenStack Foundation", "openstack"),
];

const CONTAINERS: [&str; 5] = ["docker", "lxc", "podman", "openvz", "containerd"];

pub(super) fn gather(collector: &mut Collector<'_>) {
    let found = Found::look(collector.source);
    let (kind, role) = found.first.unwrap_or_else(|| ("NA".to_owned(), "NA"));
    collector.set("virtualization_type", kind);
    collector.set("virtualization_role", role);
    collector.set("virtualization_tech_guest", found.guest.into_iter().collect::<Vec<_>>());
    collector.set("virtualization_tech_host", found.host.into_iter().collect::<Vec<_>>());
}

/// The technologies that were found.
///
/// `first` is the innermost one: containers come before virtual machines, and both come before the
/// technologies that this machine hosts.
#[derive(Debug, Default)]
struct Found {
    first: Option<(String, &'static str)>,
    guest: BTreeSet<String>,
    host: BTreeSet<String>,
}

impl Found {
    fn look(source: &Source) -> Self {
        let mut found = Self::default();
        found.containers(source);
        found.firmware(source);
        found.processor(source);
        found.modules(source);
        found
    }

    fn guest(&mut self, technology: &str) {
        self.guest.insert(technology.to_owned());
        self.first.get_or_insert_with(|| (technology.to_owned(), "guest"));
    }

    fn host(&mut self, technology: &str) {
        self.host.insert(technology.to_owned());
        self.first.get_or_insert_with(|| (technology.to_owned(), "host"));
    }

    fn containers(&mut self, source: &Source) {
        let groups = source.text("/proc/1/cgroup", SMALL).unwrap_or_default();
        for line in groups.lines() {
            if line.contains("/docker/") || is_docker_scope(line) {
                self.guest("docker");
            }
            if line.contains("/lxc/") || line.contains("/machine.slice/machine-lxc") {
                self.guest("lxc");
            }
            if line.contains("/system.slice/containerd.service") {
                self.guest("containerd");
            }
        }
        // Only the presence of a marker is checked. The environment of a process may hold secrets.
        let environment = source.text("/proc/1/environ", TABLE).unwrap_or_default();
        for entry in environment.split('\0') {
            match entry.strip_prefix("container=") {
                Some("") | None => {}
                Some(engine) => {
                    if ["lxc", "podman"].contains(&engine) {
                        self.guest(engine);
                    }
                    self.guest("container");
                }
            }
        }
        if source.exists("/proc/vz") && !source.exists("/proc/lve") {
            if source.exists("/proc/bc") { self.host("openvz") } else { self.guest("openvz") }
        }
        let manager = source.value("/run/systemd/container").ok();
        if let Some(manager) = &manager {
            self.guest(word(manager));
        }
        if source.exists("/.dockerenv") || source.exists("/.dockerinit") {
            self.guest("docker");
        }
        if manager.is_some() || CONTAINERS.iter().any(|engine| self.guest.contains(*engine)) {
            self.guest.insert("container".to_owned());
        }
    }

    fn firmware(&mut self, source: &Source) {
        if source.exists("/proc/xen") {
            let controls = source.value("/proc/xen/capabilities").is_ok_and(|text| text.contains("control_d"));
            if controls {
                self.host("xen");
            } else {
                // Ansible reports the type, but does not list the technology.
                self.first.get_or_insert_with(|| ("xen".to_owned(), "guest"));
            }
        }
        let value = |file: &str| source.value(&format!("{DMI}/{file}")).unwrap_or_default();
        let (product, vendor, bios) = (value("product_name"), value("sys_vendor"), value("bios_vendor"));
        let known = |table: &[(&str, &'static str)], name: &str| {
            table.iter().find(|(known, _)| *known == name).map(|(_, technology)| *technology)
        };
        let red_hat = match (vendor.as_str(), value("product_family").as_str(), product.as_str()) {
            ("Red Hat", "RHV", _) => Some("RHV"),
            ("Red Hat", _, "RHEV Hypervisor") => Some("RHEV"),
            _ => None,
        };
        let vmware = product.starts_with("VMware").then_some("VMware");
        let hints =
            [known(&PRODUCTS, &product), red_hat, vmware, known(&BIOS_VENDORS, &bios), known(&SYSTEM_VENDORS, &vendor)];
        for technology in hints.into_iter().flatten() {
            self.guest(technology);
        }
    }

    fn processor(&mut self, source: &Source) {
        let text = source.head("/proc/cpuinfo", SMALL).unwrap_or_default().0;
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            match (key.trim(), value) {
                ("model name", value) if value.contains("QEMU Virtual CPU") => self.guest("kvm"),
                ("vendor_id", value) if value.contains("User Mode Linux") => self.guest("uml"),
                ("machine", value) if value.contains("CHRP IBM pSeries (emulated by qemu)") => self.guest("kvm"),
                ("vendor_id", value) if value.contains("PowerVM Lx86") => self.guest("powervm_lx86"),
                _ => {}
            }
        }
    }

    fn modules(&mut self, source: &Source) {
        let modules = source.text("/proc/modules", TABLE).unwrap_or_default();
        let loaded = |name: &str| modules.lines().any(|line| line.split_ascii_whitespace().next() == Some(name));
        if loaded("kvm") {
            self.host("kvm");
        }
        if loaded("vboxdrv") {
            self.host("virtualbox");
        }
        if loaded("virtio") {
            // These are a guest's drivers. Ansible nevertheless lists the technology among those of
            // hosts.
            self.host.insert("kvm".to_owned());
            self.first.get_or_insert_with(|| ("kvm".to_owned(), "guest"));
        }
        if source.exists("/dev/kvm") {
            self.host("kvm");
        }
    }
}

/// Returns true for a path with `/docker-HEX.scope`.
fn is_docker_scope(line: &str) -> bool {
    line.split("/docker-").skip(1).any(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        digits > 0 && rest.get(digits..).is_some_and(|rest| rest.starts_with(".scope"))
    })
}

/// Returns the first word of untrusted text that names a kind.
fn word(text: &str) -> &str {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        .next()
        .filter(|word| !word.is_empty())
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    fn found_in(tree: &Tree) -> (String, &'static str, String, String) {
        let found = Found::look(&Source::new(tree.root()));
        let (kind, role) = found.first.unwrap_or_default();
        let list = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(" ");
        (kind, role, list(found.guest), list(found.host))
    }

    #[test]
    fn a_container_in_a_virtual_machine_shows_both() {
        let tree = Tree::new();
        tree.file("/.dockerenv", "");
        tree.file("/sys/devices/virtual/dmi/id/sys_vendor", "QEMU\n");
        tree.file("/dev/kvm", "");
        assert_eq!(found_in(&tree), ("docker".into(), "guest", "container docker kvm".into(), "kvm".into()));
    }

    #[test]
    fn bare_metal_shows_nothing_or_what_it_can_run() {
        let tree = Tree::new();
        tree.file("/sys/devices/virtual/dmi/id/sys_vendor", "Dell Inc.\n");
        tree.file("/proc/cpuinfo", "processor : 0\nmodel name : Xeon\n");
        assert_eq!(found_in(&tree), (String::new(), "", String::new(), String::new()));
        tree.file("/proc/modules", "kvm_intel 1 0 - Live 0x0\nkvm 2 1 kvm_intel, Live 0x0\n");
        assert_eq!(found_in(&tree), ("kvm".into(), "host", String::new(), "kvm".into()));
    }

    #[test]
    fn clouds_and_engines_name_themselves() {
        for (file, content, want) in [
            ("/sys/devices/virtual/dmi/id/sys_vendor", "Amazon EC2\n", "kvm"),
            ("/sys/devices/virtual/dmi/id/product_name", "VMware7,1\n", "VMware"),
            ("/sys/devices/virtual/dmi/id/bios_vendor", "innotek GmbH\n", "virtualbox"),
            ("/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"),
            ("/proc/1/environ", "PATH=/bin\0container=podman\0", "podman"),
            ("/proc/1/cgroup", "0::/system.slice/docker-0af3.scope\n", "docker"),
        ] {
            let tree = Tree::new();
            tree.file(file, content);
            let (kind, role, guest, _) = found_in(&tree);
            assert_eq!((kind.as_str(), role), (want, "guest"), "{file}");
            assert!(guest.contains(want));
        }
    }
}
