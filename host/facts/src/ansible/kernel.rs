//! The platform: kernel, architecture and machine ID, the kernel's command line, and its security
//! modules.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::distribution::assignments;
use crate::collector::Collector;
use crate::source::{SMALL, Source, Unreadable};

/// Programs of which every machine has at least one. Their word size is the machine's user-space
/// word size.
const PROGRAMS: [&str; 5] =
    ["/bin/sh", "/usr/lib/systemd/systemd", "/lib/systemd/systemd", "/sbin/init", "/usr/bin/env"];

const SELINUX: &str = "/sys/fs/selinux";

/// Gathers kernel, architecture, and the identity of the machine.
pub(super) fn platform(collector: &mut Collector<'_>) {
    let source = collector.source;
    collector.keep_as("system", source.value("/proc/sys/kernel/ostype"));
    collector.keep_as("kernel", source.value("/proc/sys/kernel/osrelease"));
    collector.keep_as("kernel_version", source.value("/proc/sys/kernel/version"));
    // Kernels from 6.1 on have a file for the hardware name. Others only have the system call,
    // whose answer is the same for every root on this machine.
    let machine = source
        .value("/proc/sys/kernel/arch")
        .unwrap_or_else(|_| rustix::system::uname().machine().to_string_lossy().into_owned());
    collector.set("architecture", architecture(&machine));
    match userspace_bits(source) {
        Some(bits) => {
            collector.set("userspace_bits", bits);
            if let Some(name) = userspace_architecture(&machine, bits) {
                collector.set("userspace_architecture", name);
            }
        }
        None => collector.miss("userspace_bits", format!("none of {} is a program", PROGRAMS.join(", "))),
    }
    collector.set("machine", machine);
    let id = source.value("/var/lib/dbus/machine-id").or_else(|_| source.value("/etc/machine-id"));
    if let Some(id) = collector.keep_if_there("machine_id", id) {
        collector.set("machine_id", id.lines().next().unwrap_or_default());
    }
    collector.keep_as("is_chroot", is_chroot(source));
}

/// Gathers the kernel's command line.
pub(super) fn command_line(collector: &mut Collector<'_>) {
    if let Some(line) = collector.keep("cmdline", collector.source.value("/proc/cmdline")) {
        let words = words(&line);
        let pairs = words.iter().map(|word| pair(word)).map(|(key, value)| (key.to_owned(), value));
        collector.set("cmdline", pairs.collect::<Map<_, _>>());
        collector.set("proc_cmdline", all_values(&words));
    }
}

/// Gathers the state of FIPS mode, SELinux and AppArmor.
pub(super) fn security(collector: &mut Collector<'_>) {
    let source = collector.source;
    match source.number("/proc/sys/crypto/fips_enabled") {
        // A kernel that was built without FIPS mode has no such file.
        Err(reason) if reason.is_missing() => collector.set("fips", false),
        found => collector.keep_as("fips", found.map(|value| value == 1)),
    }
    let apparmor = if source.exists("/sys/kernel/security/apparmor") { "enabled" } else { "disabled" };
    collector.set("apparmor", json!({"status": apparmor}));
    collector.set("selinux", selinux(source));
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
    let is_pc = machine == "x86_64" || is_32_bit_pc(machine);
    is_pc.then_some(if bits == "64" { "x86_64" } else { "i386" })
}

/// Returns the word size, which is the fifth byte of an ELF file.
fn userspace_bits(source: &Source) -> Option<&'static str> {
    PROGRAMS.iter().find_map(|program| {
        // A program is much longer than the limit and mostly not text. Only the head is read, and
        // decoding is lossy after the first bytes.
        let (head, _) = source.head(program, SMALL).ok()?;
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
    if let Ok(first) = source.stat("/proc/1/root/.") {
        return Ok((own.st_ino, own.st_dev) != (first.st_ino, first.st_dev));
    }
    // The inode number of a filesystem's top directory, by the filesystem's type number
    // (`statfs(2)`).
    let topmost = match source.filesystem_kind("/")? {
        0x9123_683e => 256, // btrfs
        0x5846_5342 => 128, // xfs
        _ => 2,
    };
    Ok(own.st_ino != topmost)
}

/// Splits the line into words as Ansible does: at white space, except inside a word that starts
/// with a quote.
///
/// Such a word ends at the next quote of the same kind. Quotes are kept. If a quote is never
/// closed, nothing can be trusted and the result is empty.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if first == '"' || first == '\'' {
            match rest.get(1..).and_then(|inner| inner.find(first)) {
                Some(length) => length + 2,
                None => return Vec::new(),
            }
        } else {
            rest.find(char::is_whitespace).unwrap_or(rest.len())
        };
        let (word, next) = rest.split_at_checked(end).unwrap_or((rest, ""));
        words.push(word);
        rest = next.trim_start();
    }
    words
}

fn pair(word: &str) -> (&str, Value) {
    word.split_once('=').map_or((word, Value::Bool(true)), |(key, value)| (key, value.into()))
}

/// Collects the values of every key. A key that occurs more than once gets a list of its values.
fn all_values(words: &[&str]) -> Map<String, Value> {
    let mut found: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for word in words {
        let (key, value) = pair(word);
        let values = found.entry(key).or_default();
        // A word without a value is `true`, no matter how often it occurs.
        if value == Value::Bool(true) {
            values.clear();
        }
        values.push(value);
    }
    let one_or_all = |mut values: Vec<Value>| match values.len() {
        1 => values.remove(0),
        _ => values.into(),
    };
    found.into_iter().map(|(key, values)| (key.to_owned(), one_or_all(values))).collect()
}

/// Returns the state of SELinux. A kernel that has it active also has its filesystem mounted.
///
/// The configuration file takes effect only at the next boot.
fn selinux(source: &Source) -> Value {
    if !source.exists(&format!("{SELINUX}/enforce")) {
        return json!({"status": "disabled"});
    }
    let configuration = assignments(source, "/etc/selinux/config").unwrap_or_default();
    let configured = |key: &str| configuration.get(key).map_or("unknown", String::as_str);
    let mode = match source.number(&format!("{SELINUX}/enforce")) {
        Ok(1) => "enforcing",
        Ok(0) => "permissive",
        _ => "unknown",
    };
    let version = source.number(&format!("{SELINUX}/policyvers"));
    json!({
        "status": "enabled",
        "policyvers": version.map_or_else(|_| "unknown".into(), Value::from),
        "config_mode": configured("SELINUX"),
        "mode": mode,
        "type": configured("SELINUXTYPE"),
    })
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

    #[test]
    fn words_are_those_of_ansible() {
        assert_eq!(
            words(r#"quiet console=tty0 opt="a b" "x=1 2" ro"#),
            ["quiet", "console=tty0", r#"opt="a"#, r#"b""#, r#""x=1 2""#, "ro"]
        );
        assert!(words("a 'b").is_empty());
        assert!(words("").is_empty());
        assert_eq!(
            Value::from(all_values(&words("console=tty0 a=1 console=ttyS0 a b b"))),
            json!({"console": ["tty0", "ttyS0"], "a": true, "b": true})
        );
    }

    #[test]
    fn selinux_in_force_without_a_configuration() {
        let tree = Tree::new();
        tree.file("/sys/fs/selinux/enforce", "1");
        assert_eq!(
            selinux(&Source::new(tree.root())),
            json!({"status": "enabled", "policyvers": "unknown", "config_mode": "unknown", "mode": "enforcing", "type": "unknown"})
        );
    }
}
