//! Routes, from `/proc/net/route` and `/proc/net/ipv6_route`.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The route uses a gateway (`RTF_GATEWAY` of `route(8)`).
const GATEWAY: u32 = 0x2;
/// The route is usable (`RTF_UP`).
const UP: u32 = 0x1;
/// The route rejects what it matches (`RTF_REJECT`).
const REJECT: u32 = 0x200;

/// The route leads to this machine (`RTF_LOCAL`).
const LOCAL: u32 = 0x8000_0000;

/// The default route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DefaultRoute<A> {
    /// The gateway, or `None` if the destination is directly on the interface.
    pub(super) gateway: Option<A>,
    pub(super) interface: String,
}

/// An IPv4 route of the main table.
pub(super) struct Route {
    pub(super) interface: String,
    pub(super) destination: Ipv4Addr,
    pub(super) mask: Ipv4Addr,
    gateway: Option<Ipv4Addr>,
    metric: u32,
}

impl Route {
    /// Returns true if the route leads to a network that the interface itself is part of.
    pub(super) fn is_connected(&self) -> bool {
        self.gateway.is_none() && self.mask != Ipv4Addr::UNSPECIFIED
    }

    pub(super) fn covers(&self, address: Ipv4Addr) -> bool {
        u32::from(address) & u32::from(self.mask) == u32::from(self.destination)
    }

    pub(super) fn prefix(&self) -> u8 {
        u8::try_from(u32::from(self.mask).count_ones()).unwrap_or(32)
    }
}

/// Returns the usable routes, in the kernel's order.
pub(super) fn ipv4(table: &str) -> Vec<Route> {
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

/// Returns the default route with the lowest metric, and the first of several equal ones, as the
/// kernel does.
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
    let mut told = Vec::new();
    for line in table.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let address = fields.first().and_then(|digits| ipv6_address(digits));
        let (Some(address), Some(prefix), Some(flags)) = (address, number(1), number(8)) else { continue };
        let text = if prefix == 128 { address.to_string() } else { format!("{address}/{prefix}") };
        if flags & LOCAL != 0 && !told.contains(&text) {
            told.push(text);
        }
    }
    told
}

/// Parses an address of 32 hexadecimal digits.
pub(super) fn ipv6_address(digits: &str) -> Option<Ipv6Addr> {
    if digits.len() == 32 { u128::from_str_radix(digits, 16).ok().map(Ipv6Addr::from) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let routes = ipv4(TABLE);
        assert_eq!(routes.len(), 3, "routes that are down or refuse are left out");
        let default = default_ipv4(&routes).unwrap();
        assert_eq!((default.gateway, default.interface.as_str()), (Some(Ipv4Addr::new(10, 1, 1, 1)), "eth0"));
        let connected = routes.iter().find(|route| route.is_connected()).unwrap();
        assert!(connected.covers(Ipv4Addr::new(10, 1, 1, 7)) && !connected.covers(Ipv4Addr::new(10, 1, 2, 7)));
        assert_eq!(connected.prefix(), 24);
    }

    #[test]
    fn the_refusing_ipv6_route_is_no_default_route() {
        let refusing = "00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n";
        assert_eq!(default_ipv6(refusing), None);
        let table = format!(
            "{refusing}00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00450003     eth0\n"
        );
        let route = default_ipv6(&table).unwrap();
        assert_eq!((route.gateway, route.interface.as_str()), (Some("fe80::1".parse().unwrap()), "eth0"));
    }

    #[test]
    fn what_leads_to_the_machine_itself_is_reachable() {
        let table = "00000000000000000000000000000001 80 00000000000000000000000000000000 00 00000000000000000000000000000000 00000000 00000004 00000000 80200001       lo\nfe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000002 00000000 00000001     eth0\n";
        assert_eq!(reachable6(table), ["::1"]);
    }
}
