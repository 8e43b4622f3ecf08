//! Addresses and routes from the tables of the kernel: `/proc/net/route`, `ipv6_route`, `fib_trie`
//! and `if_inet6`.
//!
//! No file of the kernel lists IPv4 addresses by interface. A netlink socket does (`netlink.rs`),
//! but only for the network namespace of this process. For another namespace the addresses are
//! derived from the routing tables. A `/32 host LOCAL` leaf of `/proc/net/fib_trie` is an address
//! of the machine. Its interface is the one with a connected route to its network. For an address
//! without such a route (a `/32` of a virtual service), the interface is unknown, and so is its
//! broadcast address.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The route uses a gateway (`RTF_GATEWAY` of `route(8)`).
const GATEWAY: u32 = 0x2;
/// The route is usable (`RTF_UP`).
const UP: u32 = 0x1;
/// The route rejects what it matches (`RTF_REJECT`).
const REJECT: u32 = 0x200;
/// The route leads to this machine (`RTF_LOCAL`).
const LOCAL: u32 = 0x8000_0000;

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

/// An IPv6 address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address6 {
    pub(super) interface: String,
    pub(super) address: Ipv6Addr,
    pub(super) prefix: u8,
    pub(super) scope: &'static str,
}

/// The default route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DefaultRoute<A> {
    /// The gateway, or `None` if the destination is directly on the interface.
    pub(super) gateway: Option<A>,
    pub(super) interface: String,
}

/// An IPv4 route of the main table.
pub(super) struct Route {
    interface: String,
    destination: Ipv4Addr,
    mask: Ipv4Addr,
    gateway: Option<Ipv4Addr>,
    metric: u32,
}

impl Route {
    /// Returns true if the route leads to a network that the interface itself is part of.
    fn is_connected(&self) -> bool {
        self.gateway.is_none() && self.mask != Ipv4Addr::UNSPECIFIED
    }

    fn covers(&self, address: Ipv4Addr) -> bool {
        u32::from(address) & u32::from(self.mask) == u32::from(self.destination)
    }

    fn prefix(&self) -> u8 {
        u8::try_from(u32::from(self.mask).count_ones()).unwrap_or(32)
    }
}

/// Returns the usable IPv4 routes, in the kernel's order.
pub(super) fn ipv4_routes(table: &str) -> Vec<Route> {
    table.lines().skip(1).filter_map(route).collect()
}

/// Parses interface, destination, gateway, flags, references, uses, metric, mask, and so on.
///
/// Addresses are in hexadecimal, in the machine's byte order.
fn route(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
    let address = |index: usize| number(index).map(|number| Ipv4Addr::from(number.to_ne_bytes()));
    let flags = number(3)?;
    if flags & UP == 0 || flags & REJECT != 0 {
        return None;
    }
    let gateway = address(2)?;
    Some(Route {
        interface: (*fields.first()?).to_owned(),
        destination: address(1)?,
        mask: address(7)?,
        gateway: (flags & GATEWAY != 0).then_some(gateway),
        metric: fields.get(6)?.parse().ok()?,
    })
}

/// Returns the IPv4 default route with the lowest metric, and the first of several equal ones, as
/// the kernel does.
pub(super) fn default_ipv4(routes: &[Route]) -> Option<DefaultRoute<Ipv4Addr>> {
    let defaults = routes.iter().filter(|route| route.destination.is_unspecified() && route.mask.is_unspecified());
    let route = defaults.min_by_key(|route| route.metric)?;
    Some(DefaultRoute { gateway: route.gateway, interface: route.interface.clone() })
}

/// Returns the IPv6 default route.
///
/// The columns are destination, prefix length, source, prefix length, next hop, metric, references,
/// uses, flags and interface, all in hexadecimal.
pub(super) fn default_ipv6(table: &str) -> Option<DefaultRoute<Ipv6Addr>> {
    let defaults = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let flags = number(8)?;
        let interface = *fields.get(9)?;
        let is_default = ipv6_address(fields.first()?)?.is_unspecified() && number(1)? == 0;
        // The kernel always has a default route on `lo` that rejects everything.
        if !is_default || flags & UP == 0 || flags & REJECT != 0 || interface == "lo" {
            return None;
        }
        let gateway = ipv6_address(fields.get(4)?)?;
        let gateway = (!gateway.is_unspecified()).then_some(gateway);
        Some((number(5)?, DefaultRoute { gateway, interface: interface.to_owned() }))
    });
    defaults.min_by_key(|(metric, _)| *metric).map(|(_, route)| route)
}

/// Returns the local routes, in the format of `ip route`.
pub(super) fn reachable6(table: &str) -> Vec<String> {
    let mut addresses = Vec::new();
    for line in table.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let address = fields.first().and_then(|digits| ipv6_address(digits));
        let (Some(address), Some(prefix), Some(flags)) = (address, number(1), number(8)) else { continue };
        let text = if prefix == 128 { address.to_string() } else { format!("{address}/{prefix}") };
        if flags & LOCAL != 0 && !addresses.contains(&text) {
            addresses.push(text);
        }
    }
    addresses
}

fn ipv6_address(digits: &str) -> Option<Ipv6Addr> {
    if digits.len() == 32 { u128::from_str_radix(digits, 16).ok().map(Ipv6Addr::from) } else { None }
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
    let text = |(address, prefix): (Ipv4Addr, u8)| {
        if prefix == 32 { format!("{address}") } else { format!("{address}/{prefix}") }
    };
    local(trie).into_iter().filter(|leaf| seen.insert(*leaf)).map(text).collect()
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
pub(super) fn ipv6_addresses(table: &str) -> Vec<Address6> {
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
    fn ipv6_addresses_bear_their_scope() {
        let table = "00000000000000000000000000000001 01 80 10 80       lo\nfe80000000000000021122fffe334455 02 40 20 80     eth0\n20010db8000000000000000000000007 02 40 00 80     eth0\nrubbish\n";
        let found = ipv6_addresses(table);
        let brief: Vec<_> =
            found.iter().map(|a| format!("{} {}/{} {}", a.interface, a.address, a.prefix, a.scope)).collect();
        assert_eq!(brief, ["lo ::1/128 host", "eth0 fe80::211:22ff:fe33:4455/64 link", "eth0 2001:db8::7/64 global"]);
    }

    #[cfg(target_endian = "little")]
    const TABLE: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
        wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n\
        eth0\t00000000\t0101010A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
        eth0\t0001010A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n\
        eth1\t0000000B\t00000000\t0200\t0\t0\t0\t000000FF\t0\t0\t0\n\
        broken\n";

    #[cfg(target_endian = "little")]
    #[test]
    fn the_default_route_is_the_one_with_the_lowest_metric() {
        let routes = ipv4_routes(TABLE);
        assert_eq!(routes.len(), 3, "routes that are down or refuse are left out");
        let default = default_ipv4(&routes).unwrap();
        assert_eq!((default.gateway, default.interface.as_str()), (Some(Ipv4Addr::new(10, 1, 1, 1)), "eth0"));
        let connected = routes.iter().find(|route| route.is_connected()).unwrap();
        assert!(connected.covers(Ipv4Addr::new(10, 1, 1, 7)) && !connected.covers(Ipv4Addr::new(10, 1, 2, 7)));
        assert_eq!(connected.prefix(), 24);
    }

    #[test]
    fn the_rejecting_ipv6_route_is_not_a_default_route() {
        let refusing = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n";
        assert_eq!(default_ipv6(refusing), None);
        let table = format!(
            "{refusing}00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00450003     eth0\n"
        );
        let route = default_ipv6(&table).unwrap();
        assert_eq!((route.gateway, route.interface.as_str()), (Some("fe80::1".parse().unwrap()), "eth0"));
    }

    #[test]
    fn local_routes_are_reachable_addresses() {
        let table = "00000000000000000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000004 00000000 80200001       lo\nfe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000002 00000000 00000001     eth0\n";
        assert_eq!(reachable6(table), ["::1"]);
    }
}
