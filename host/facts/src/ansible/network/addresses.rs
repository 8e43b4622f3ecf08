//! Addresses of the interfaces.
//!
//! No file of the kernel lists IPv4 addresses by interface. A netlink socket does (`netlink.rs`),
//! but only for the network namespace of this process. For another namespace the addresses are
//! derived from the routing tables. A `/32 host LOCAL` leaf of `/proc/net/fib_trie` is an address
//! of the machine. Its interface is the one with a connected route to its network. For an address
//! without such a route (a `/32` of a virtual service), the interface is unknown, and so is its
//! broadcast address.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

use super::routes::{DefaultRoute, Route, ipv6_address};

/// An IPv4 address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address4 {
    /// The interface, or `None` if unknown.
    pub(super) interface: Option<String>,
    /// The label of the address on the interface, such as `eth0:1`.
    pub(super) label: Option<String>,
    pub(super) address: Ipv4Addr,
    pub(super) prefix: u8,
    /// The broadcast address: `None` if unknown, empty if it has none.
    pub(super) broadcast: Option<String>,
    pub(super) secondary: bool,
}

impl Address4 {
    pub(super) fn fields(&self) -> Map<String, Value> {
        let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.prefix.into())).unwrap_or_default();
        let network = Ipv4Addr::from(u32::from(self.address) & mask);
        let mut fields = Map::new();
        let mut put = |key: &str, value: String| drop(fields.insert(key.to_owned(), value.into()));
        put("address", self.address.to_string());
        put("netmask", Ipv4Addr::from(mask).to_string());
        put("network", network.to_string());
        put("prefix", self.prefix.to_string());
        if let Some(broadcast) = &self.broadcast {
            put("broadcast", broadcast.clone());
        }
        fields
    }
}

/// An IPv6 address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address6 {
    pub(super) interface: String,
    pub(super) address: Ipv6Addr,
    pub(super) prefix: u8,
    pub(super) scope: &'static str,
}

impl Address6 {
    pub(super) fn fields(&self) -> Map<String, Value> {
        Map::from_iter([
            ("address".to_owned(), self.address.to_string().into()),
            ("prefix".to_owned(), self.prefix.to_string().into()),
            ("scope".to_owned(), self.scope.into()),
        ])
    }
}

/// Returns Ansible's description of the default route: gateway, source address and interface.
pub(super) fn default4(route: &DefaultRoute<Ipv4Addr>, all: &[Address4], link: &Value) -> Map<String, Value> {
    let mut told = route_fields(route);
    let mut own = all.iter().filter(|address| address.interface.as_deref() == Some(&route.interface));
    let near =
        |address: &&Address4| route.gateway.is_some_and(|gateway| covers4(address, gateway) && !address.secondary);
    if let Some(address) = own.clone().find(near).or_else(|| own.next()) {
        told.extend(address.fields());
        told.insert("alias".to_owned(), address.label.as_deref().unwrap_or(&route.interface).into());
        told.extend(link_fields(link));
    }
    told
}

/// Returns the same for IPv6.
pub(super) fn default6(route: &DefaultRoute<Ipv6Addr>, all: &[Address6], link: &Value) -> Map<String, Value> {
    let mut told = route_fields(route);
    let mut own = all.iter().filter(|address| address.interface == route.interface && address.scope == "global");
    let near = |address: &&Address6| route.gateway.is_some_and(|gateway| covers6(address, gateway));
    if let Some(address) = own.clone().find(near).or_else(|| own.next()) {
        told.extend(address.fields());
        told.extend(link_fields(link));
    }
    told
}

fn route_fields<A: ToString>(route: &DefaultRoute<A>) -> Map<String, Value> {
    let mut told = Map::from_iter([("interface".to_owned(), Value::from(route.interface.as_str()))]);
    if let Some(gateway) = &route.gateway {
        told.insert("gateway".to_owned(), gateway.to_string().into());
    }
    told
}

fn link_fields(link: &Value) -> Vec<(String, Value)> {
    let copied = ["macaddress", "mtu"].iter().filter_map(|key| Some(((*key).to_owned(), link.get(*key)?.clone())));
    let kind = link.get("type").cloned().unwrap_or_else(|| json!("unknown"));
    copied.chain([("type".to_owned(), kind)]).collect()
}

fn covers4(address: &Address4, other: Ipv4Addr) -> bool {
    let mask = u32::MAX.checked_shl(32_u32.saturating_sub(address.prefix.into())).unwrap_or_default();
    u32::from(address.address) & mask == u32::from(other) & mask
}

fn covers6(address: &Address6, other: Ipv6Addr) -> bool {
    let mask = u128::MAX.checked_shl(128_u32.saturating_sub(address.prefix.into())).unwrap_or_default();
    u128::from(address.address) & mask == u128::from(other) & mask
}

/// Returns the local leaves of a trie: address and prefix length.
fn local(trie: &str) -> Vec<(Ipv4Addr, u8)> {
    let mut found = Vec::new();
    let mut leaf = None;
    for line in trie.lines() {
        let line = line.trim();
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse::<Ipv4Addr>().ok();
        } else if let Some(prefix) = line.strip_prefix('/').and_then(|line| line.strip_suffix(" host LOCAL")) {
            found.extend(leaf.zip(prefix.parse::<u8>().ok()));
        }
    }
    found
}

/// Returns the local addresses, including whole networks, in the format of `ip route`.
pub(super) fn reachable4(trie: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut told = Vec::new();
    for (address, prefix) in local(trie) {
        if seen.insert((address, prefix)) {
            told.push(if prefix == 32 { address.to_string() } else { format!("{address}/{prefix}") });
        }
    }
    told
}

/// Returns each address with the interface that has the longest matching connected route. Loopback
/// addresses belong to `lo`.
pub(super) fn from_trie(trie: &str, routes: &[Route]) -> Vec<Address4> {
    let addresses: BTreeSet<_> = local(trie).into_iter().filter(|(_, prefix)| *prefix == 32).collect();
    let place = |address: Ipv4Addr| {
        if address.is_loopback() {
            // Its route is in the table `local`, which the route file does not show.
            return Some(("lo".to_owned(), 8));
        }
        let connected = routes.iter().filter(|route| route.is_connected() && route.covers(address));
        connected.max_by_key(|route| route.prefix()).map(|route| (route.interface.clone(), route.prefix()))
    };
    let whole = |(address, _): (Ipv4Addr, u8)| {
        let place = place(address);
        Address4 {
            prefix: place.as_ref().map_or(32, |(_, prefix)| *prefix),
            interface: place.map(|(interface, _)| interface),
            label: None,
            address,
            broadcast: None,
            secondary: false,
        }
    };
    addresses.into_iter().map(whole).collect()
}

/// Parses `/proc/net/if_inet6`: address, index, prefix length, scope, flags (all in hexadecimal),
/// interface.
pub(super) fn ipv6(table: &str) -> Vec<Address6> {
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
        Some(Address6 { interface: (*fields.get(5)?).to_owned(), address, prefix, scope })
    };
    table.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_leaves_are_addresses() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 10.1.1.0/24 2 0 2\n        |-- 10.1.1.0\n           /24 link UNICAST\n        |-- 10.1.1.7\n           /32 host LOCAL\n        |-- 10.1.1.255\n           /32 link BROADCAST\nLocal:\n        |-- 10.1.1.7\n           /32 host LOCAL\n        |-- 127.0.0.0\n           /8 host LOCAL\n        |-- 127.0.0.1\n           /32 host LOCAL\n";
        let addresses: Vec<_> = from_trie(trie, &[]).iter().map(|address| address.address.to_string()).collect();
        assert_eq!(addresses, ["10.1.1.7", "127.0.0.1"]);
        assert_eq!(reachable4(trie), ["10.1.1.7", "127.0.0.0/8", "127.0.0.1"]);
    }

    #[test]
    fn networks_are_worked_out_at_the_edges_too() {
        for (prefix, network, mask) in
            [(32, "10.1.2.3", "255.255.255.255"), (0, "0.0.0.0", "0.0.0.0"), (20, "10.1.0.0", "255.255.240.0")]
        {
            let address = Address4 {
                interface: None,
                label: None,
                address: Ipv4Addr::new(10, 1, 2, 3),
                prefix,
                broadcast: None,
                secondary: false,
            };
            let fields = address.fields();
            assert_eq!((fields["network"].as_str().unwrap(), fields["netmask"].as_str().unwrap()), (network, mask));
            assert!(!fields.contains_key("broadcast"));
        }
    }

    #[test]
    fn ipv6_addresses_bear_their_scope() {
        let table = "00000000000000000000000000000001 01 80 10 80       lo\nfe80000000000000021122fffe334455 02 40 20 80     eth0\n20010db8000000000000000000000007 02 40 00 80     eth0\nrubbish\n";
        let found = ipv6(table);
        let brief: Vec<_> =
            found.iter().map(|a| format!("{} {}/{} {}", a.interface, a.address, a.prefix, a.scope)).collect();
        assert_eq!(brief, ["lo ::1/128 host", "eth0 fe80::211:22ff:fe33:4455/64 link", "eth0 2001:db8::7/64 global"]);
    }
}
