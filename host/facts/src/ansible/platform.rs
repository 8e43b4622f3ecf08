//! The kernel, the architecture, and the identity of the machine.

use crate::gathering::Collector;
use crate::source::{SMALL, Source, Unreadable};

/// Programs of which every machine has at least one. Their word size is the machine's user-space
/// word size.
const PROGRAMS: [&str; 5] =
    ["/bin/sh", "/usr/lib/systemd/systemd", "/lib/systemd/systemd", "/sbin/init", "/usr/bin/env"];

/// Paths of the machine ID, in order of preference.
const MACHINE_ID: [&str; 2] = ["/var/lib/dbus/machine-id", "/etc/machine-id"];

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    gathering.keep_as("system", source.value("/proc/sys/kernel/ostype"));
    gathering.keep_as("kernel", source.value("/proc/sys/kernel/osrelease"));
    gathering.keep_as("kernel_version", source.value("/proc/sys/kernel/version"));
    let machine = machine(source);
    let bits = userspace_bits(source);
    gathering.set("machine", machine.as_str());
    gathering.set("architecture", architecture(&machine));
    match bits {
        Some(bits) => {
            gathering.set("userspace_bits", bits);
            if let Some(name) = userspace_architecture(&machine, bits) {
                gathering.set("userspace_architecture", name);
            }
        }
        None => gathering.miss("userspace_bits", format!("none of {} is a program", PROGRAMS.join(", "))),
    }
    let [bus, own] = MACHINE_ID;
    let id = source.value(bus).or_else(|_| source.value(own));
    if let Some(id) = gathering.keep_if_there("machine_id", id) {
        gathering.set("machine_id", id.lines().next().unwrap_or_default());
    }
    gathering.keep_as("is_chroot", is_chroot(source));
}

/// Returns the machine's hardware name.
///
/// Kernels from 6.1 on have a file for it. Others only have the system call, whose answer is the
/// same for every root on this machine.
fn machine(source: &Source) -> String {
    source
        .value("/proc/sys/kernel/arch")
        .unwrap_or_else(|_| rustix::system::uname().machine().to_string_lossy().into_owned())
}

/// Returns the architecture. All 32-bit PCs share one.
fn architecture(machine: &str) -> &str {
    if is_32_bit_pc(machine) { "i386" } else { machine }
}

fn is_32_bit_pc(machine: &str) -> bool {
    matches!(machine, "i386" | "i486" | "i586" | "i686")
}

/// Returns the user-space architecture. As in Ansible, only PCs have it.
fn userspace_architecture(machine: &str, bits: &str) -> Option<&'static str> {
    if machine != "x86_64" && !is_32_bit_pc(machine) {
        return None;
    }
    Some(if bits == "64" { "x86_64" } else { "i386" })
}

/// Returns the word size, which is the fifth byte of an ELF file.
fn userspace_bits(source: &Source) -> Option<&'static str> {
    PROGRAMS.iter().find_map(|program| {
        // A program is much longer than the limit and mostly not text. Only the head is read, and
        // decoding is lossy after the first bytes.
        let head = source.head(program, SMALL).ok()?.text;
        match head.strip_prefix("\u{7f}ELF")?.bytes().next()? {
            1 => Some("32"),
            2 => Some("64"),
            _ => None,
        }
    })
}

/// Returns true if the root of the tree differs from the root of the first process.
///
/// If that root is not accessible, returns true if this root is not the top directory of its
/// filesystem.
fn is_chroot(source: &Source) -> Result<bool, Unreadable> {
    let own = source.stat("/")?;
    match source.stat("/proc/1/root/.") {
        Ok(first) => Ok((own.st_ino, own.st_dev) != (first.st_ino, first.st_dev)),
        Err(_) => Ok(own.st_ino != topmost(source.filesystem_kind("/")?)),
    }
}

/// Returns the inode number of a filesystem's top directory, by the filesystem's type number
/// (`statfs(2)`).
fn topmost(kind: u64) -> u64 {
    match kind {
        0x9123_683e => 256, // btrfs
        0x5846_5342 => 128, // xfs
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn architectures_are_named_as_ansible_does() {
        for (machine, bits, architecture_name, userspace) in [
            ("x86_64", "64", "x86_64", Some("x86_64")),
            ("x86_64", "32", "x86_64", Some("i386")),
            ("i686", "32", "i386", Some("i386")),
            ("aarch64", "64", "aarch64", None),
        ] {
            assert_eq!(architecture(machine), architecture_name);
            assert_eq!(userspace_architecture(machine, bits), userspace);
        }
    }

    #[test]
    fn word_size_is_read_from_a_program() {
        let tree = Tree::new();
        assert_eq!(userspace_bits(&Source::new(tree.root())), None);
        tree.file("/bin/sh", "#!/bin/other\n");
        tree.file("/sbin/init", "\u{7f}ELF\u{1}rest");
        assert_eq!(userspace_bits(&Source::new(tree.root())), Some("32"));
    }
}
