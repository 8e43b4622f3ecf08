//! Addresses of the interfaces.
//!
//! The kernel has no file that lists IPv4 addresses by interface. Its routing tables tell it nevertheless: an address that the machine
//! answers to is a `/32 host LOCAL` leaf of `/proc/net/fib_trie`, and its interface is the one with a connected route to its network.
//! An address without such a route (a `/32` of a virtual service) is known, but not where it is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use super::routes::{Route, ipv6_address};
use crate::facts::data::{Ipv4, Ipv6, Link};

/// The addresses that the machine answers to, sorted.
pub(super) fn local_ipv4(trie: &str) -> BTreeSet<Ipv4Addr> {
    let mut local = BTreeSet::new();
    let mut leaf = None;
    for line in trie.lines() {
        let line = line.trim();
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse::<Ipv4Addr>().ok();
        } else if line.starts_with("/32 host LOCAL") {
            local.extend(leaf);
        }
    }
    local
}

/// Gives each address to the interface whose connected route fits it most closely; loopback addresses to `lo`.
pub(super) fn assign_ipv4(local: &BTreeSet<Ipv4Addr>, routes: &[Route], links: &mut BTreeMap<String, Link>) {
    for &address in local {
        let (interface, prefix) = if address.is_loopback() {
            // Its route stands in the table `local`, which the file of routes does not show.
            ("lo", 8)
        } else {
            let connected = routes.iter().filter(|route| route.is_connected() && route.covers(address));
            match connected.max_by_key(|route| route.prefix()) {
                Some(route) => (route.interface.as_str(), route.prefix()),
                None => continue,
            }
        };
        if let Some(link) = links.get_mut(interface) {
            link.ipv4.push(Ipv4 { address: address.to_string(), prefix });
        }
    }
}

/// The lines of `/proc/net/if_inet6`: address, index, length of the prefix, scope, flags (all in hexadecimal), interface.
pub(super) fn ipv6(table: &str) -> Vec<(String, Ipv6)> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let address = ipv6_address(fields.first()?)?;
        let prefix = u8::from_str_radix(fields.get(2)?, 16).ok()?;
        let scope = match u8::from_str_radix(fields.get(3)?, 16).ok()? & 0xf0 {
            0x10 => "host",
            0x20 => "link",
            0x40 => "site",
            _ => "global",
        };
        let interface = (*fields.get(5)?).to_owned();
        Some((interface, Ipv6 { address: address.to_string(), prefix, scope: scope.to_owned() }))
    };
    table.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_leaves_are_addresses() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 10.1.1.0/24 2 0 2\n        |-- 10.1.1.0\n           /24 link UNICAST\n        |-- 10.1.1.7\n           /32 host LOCAL\n        |-- 10.1.1.255\n           /32 link BROADCAST\nLocal:\n        |-- 10.1.1.7\n           /32 host LOCAL\n        |-- 127.0.0.1\n           /32 host LOCAL\n";
        let addresses: Vec<_> = local_ipv4(trie).iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.1.1.7", "127.0.0.1"]);
    }

    #[test]
    fn ipv6_addresses_bear_their_scope() {
        let table = "00000000000000000000000000000001 01 80 10 80       lo\nfe80000000000000021122fffe334455 02 40 20 80     eth0\n20010db8000000000000000000000007 02 40 00 80     eth0\nrubbish\n";
        let found = ipv6(table);
        let brief: Vec<_> =
            found.iter().map(|(interface, a)| format!("{interface} {}/{} {}", a.address, a.prefix, a.scope)).collect();
        assert_eq!(brief, ["lo ::1/128 host", "eth0 fe80::211:22ff:fe33:4455/64 link", "eth0 2001:db8::7/64 global"]);
    }
}
