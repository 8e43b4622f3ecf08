//! The host name and domain of the machine.

use crate::gathering::Collector;
use crate::source::{SMALL, Source};

const HOSTS: &str = "/etc/hosts";

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let nodename = source.value("/proc/sys/kernel/hostname").or_else(|kernel| {
        // A file tree without a running kernel, such as an image, may still have a configured name.
        source.value("/etc/hostname").map_err(|_| kernel)
    });
    let Some(nodename) = gathering.keep("nodename", nodename) else { return };
    gathering.set("hostname", nodename.split('.').next().unwrap_or_default());
    let fqdn = full_name(&nodename, &hosts(source));
    gathering.set("domain", fqdn.split_once('.').map_or("", |(_, domain)| domain));
    gathering.set("fqdn", fqdn);
    gathering.set("nodename", nodename);
}

fn hosts(source: &Source) -> String {
    // Without the file, the kernel's name is used.
    source.text(HOSTS, SMALL).unwrap_or_default()
}

/// Returns the fully qualified name, as the resolver derives it from `hosts(5)` alone.
///
/// It looks up the address of the name, then takes the first line with that address. From that line
/// it takes the first name with a dot, or else the first name. No name server is asked: a fact must
/// not depend on which servers answer today.
fn full_name(nodename: &str, hosts: &str) -> String {
    let lines: Vec<Vec<&str>> = hosts
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().split_ascii_whitespace().collect())
        .filter(|fields: &Vec<&str>| fields.len() > 1)
        .collect();
    let address = lines.iter().find(|fields| fields.iter().skip(1).any(|name| *name == nodename));
    let line = address.and_then(|found| lines.iter().find(|fields| fields.first() == found.first()));
    let Some(line) = line else { return nodename.to_owned() };
    let mut names = line.iter().skip(1);
    let dotted = names.clone().find(|name| name.contains('.'));
    (*dotted.or_else(|| names.next()).unwrap_or(&nodename)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_name_is_that_of_the_hosts_file() {
        for (hosts, want) in [
            ("", "node-1"),
            ("127.0.0.1 localhost\n127.0.0.1 node-1\n", "localhost"),
            ("127.0.0.1 localhost\n10.0.0.7 node-1.example.com node-1\n", "node-1.example.com"),
            ("10.0.0.7 node-1 node-1.example.com # node-1.other\n", "node-1.example.com"),
            ("# 10.0.0.7 x.example.com node-1\n", "node-1"),
        ] {
            assert_eq!(full_name("node-1", hosts), want, "{hosts}");
        }
    }
}
