//! Facts that every Linux machine has.

use plumbline_facts::{Options, gather};

#[test]
fn this_machine_tells_what_every_linux_machine_can_tell() {
    let facts = gather(&Options::new("/"));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(facts.fact("kernel").unwrap(), kernel.trim());
    assert!(facts.fact("memtotal_mb").unwrap().as_u64().unwrap() > 0);
    assert!(facts.fact("processor_vcpus").unwrap().as_u64().unwrap() > 0);
    let own = &facts.plumbline_facts;
    assert!([1, 2].contains(&own["cgroup"]["version"].as_u64().unwrap()));
    assert!(own["time"]["epoch"].as_f64().unwrap() > 1.7e9);
    for error in &facts.errors {
        assert!(!error.reason.is_empty() && error.fact.contains('_'), "{error:?}");
    }
}

/// The address of the default route is the source address that a socket gets.
#[test]
fn addresses_are_those_that_sockets_get() {
    let facts = gather(&Options::new("/"));
    let Some(address) = facts.fact("default_ipv4").and_then(|route| route.get("address")) else {
        eprintln!("SKIPPED: this machine has no IPv4 default route");
        return;
    };
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    // Connecting a UDP socket sends nothing, but selects the source address.
    socket.connect("192.0.2.1:9").unwrap();
    let local = socket.local_addr().unwrap().ip().to_string();
    let all = facts.fact("all_ipv4_addresses").unwrap().as_array().unwrap();
    assert!(all.iter().any(|known| known == &local), "{local} in {all:?}");
    assert!(all.contains(address));
}

/// Below a foreign root that is the same machine, the same facts are found in a different way.
#[test]
fn a_root_that_is_this_machine_tells_the_same() {
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("root");
    std::os::unix::fs::symlink("/", &link).unwrap();
    let (own, other) = (gather(&Options::new("/")), gather(&Options::new(link)));
    for fact in ["kernel", "distribution", "machine_id", "architecture", "memtotal_mb", "default_ipv4", "lsb"] {
        assert_eq!(own.fact(fact), other.fact(fact), "{fact}");
    }
    for fact in ["cgroup", "sysctls", "kernel_modules", "limits"] {
        assert_eq!(own.plumbline_facts.get(fact), other.plumbline_facts.get(fact), "{fact}");
    }
}
