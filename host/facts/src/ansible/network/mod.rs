//! Interfaces, addresses and routes.

mod interfaces;
mod netlink;
mod tables;

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

use crate::collector::{Collector, present};
use crate::source::{Source, TABLE};
use tables::{Address4, Address6, DefaultRoute};

pub(super) fn gather(collector: &mut Collector<'_>) {
    let source = collector.source;
    let names = collector.keep("interfaces", source.names(interfaces::CLASS)).unwrap_or_default();
    let mut links = interfaces::links(source, &names);

    // Kernels without IPv6 do not have its files. That is not an error.
    let mut table = |fact: &str, file: &str| {
        let text = source.text(&source.process_file(file), TABLE);
        collector.keep_if_there(fact, text).unwrap_or_default()
    };
    let routes = tables::ipv4_routes(&table("default_ipv4", "net/route"));
    let trie = table("all_ipv4_addresses", "net/fib_trie");
    let routes6 = table("default_ipv6", "net/ipv6_route");
    let table6 = table("all_ipv6_addresses", "net/if_inet6");

    let index = interfaces::by_index(source, &names);
    let asked = if is_our_network(source) { netlink::addresses(&index) } else { None };
    let (ipv4, ipv6) = asked.unwrap_or_else(|| (tables::from_trie(&trie, &routes), tables::ipv6_addresses(&table6)));
    let link = |name: &str| links.get(name).cloned().unwrap_or_default();
    let default4 = tables::default_ipv4(&routes).map(|route| default4(&route, &ipv4, &link(&route.interface)));
    let default6 = tables::default_ipv6(&routes6).map(|route| default6(&route, &ipv6, &link(&route.interface)));
    collector.set("default_ipv4", default4.unwrap_or_default());
    collector.set("default_ipv6", default6.unwrap_or_default());
    let outside4 = ipv4.iter().map(|address| address.address).filter(|address| !address.is_loopback());
    collector.set("all_ipv4_addresses", outside4.map(|address| address.to_string()).collect::<Vec<_>>());
    let outside6 = ipv6.iter().map(|address| address.address).filter(|address| !address.is_loopback());
    collector.set("all_ipv6_addresses", outside6.map(|address| address.to_string()).collect::<Vec<_>>());
    let reachable = json!({"ipv4": tables::reachable4(&trie), "ipv6": tables::reachable6(&routes6)});
    collector.set("locally_reachable_ips", reachable);

    for address in ipv4 {
        add4(&mut links, &address);
    }
    for address in ipv6 {
        if let Some(Value::Object(link)) = links.get_mut(&address.interface) {
            push(link, "ipv6", fields6(&address));
        }
    }
    let names: Vec<String> = links.keys().map(|name| safe(name)).collect();
    collector.set("interfaces", names);
    for (name, link) in links {
        collector.set_dynamic(&safe(&name), link);
    }
}

/// Replaces `:` in interface names with `_`, as Ansible does. `-` is replaced where they become
/// fact names.
fn safe(name: &str) -> String {
    name.replace(':', "_")
}

/// Returns true if the root is in the network namespace of this process.
///
/// Inode numbers of the network files belong to the namespace, not to the mount. Netlink answers
/// only for the namespace of this process.
fn is_our_network(source: &Source) -> bool {
    if !source.is_foreign() {
        return true;
    }
    let own = Source::new(std::path::Path::new("/")).stat("/proc/self/net/dev");
    let theirs = source.stat("/proc/1/net/dev");
    own.is_ok_and(|own| theirs.is_ok_and(|theirs| own.st_ino == theirs.st_ino))
}

/// Adds an address to its interface. The first one is the interface's address, later ones are
/// secondary.
///
/// An address with a label creates an interface of that name.
fn add4(links: &mut Map<String, Value>, address: &Address4) {
    let Some(interface) = address.interface.as_deref() else { return };
    let fields = fields4(address);
    let label = address.label.as_deref().unwrap_or(interface);
    let Value::Object(place) = links.entry(label).or_insert_with(|| json!({})) else { return };
    if !address.secondary && !place.contains_key("ipv4") {
        place.insert("ipv4".to_owned(), fields.into());
        return;
    }
    push(place, "ipv4_secondaries", fields.clone());
    if address.secondary
        && label != interface
        && let Some(Value::Object(place)) = links.get_mut(interface)
    {
        push(place, "ipv4_secondaries", fields);
    }
}

fn push(place: &mut Map<String, Value>, key: &str, fields: Map<String, Value>) {
    if let Value::Array(list) = place.entry(key).or_insert_with(|| json!([])) {
        list.push(fields.into());
    }
}

/// Returns Ansible's description of the default route: gateway, source address and interface.
fn default4(route: &DefaultRoute<Ipv4Addr>, all: &[Address4], link: &Value) -> Map<String, Value> {
    let mut own = all.iter().filter(|address| address.interface.as_deref() == Some(&route.interface));
    let covers = |address: &&Address4, gateway: Ipv4Addr| {
        let mask = mask4(address.prefix);
        u32::from(address.address) & mask == u32::from(gateway) & mask && !address.secondary
    };
    let near = own.clone().find(|address| route.gateway.is_some_and(|gateway| covers(address, gateway)));
    let address = near.or_else(|| own.next()).map(|address| {
        let mut fields = fields4(address);
        fields.insert("alias".to_owned(), address.label.as_deref().unwrap_or(&route.interface).into());
        fields
    });
    default_route(route, address, link)
}

/// Returns the same for IPv6.
fn default6(route: &DefaultRoute<Ipv6Addr>, all: &[Address6], link: &Value) -> Map<String, Value> {
    let mut own = all.iter().filter(|address| address.interface == route.interface && address.scope == "global");
    let covers = |address: &&Address6, gateway: Ipv6Addr| {
        let mask = u128::MAX.checked_shl(128_u32.saturating_sub(address.prefix.into())).unwrap_or_default();
        u128::from(address.address) & mask == u128::from(gateway) & mask
    };
    let near = own.clone().find(|address| route.gateway.is_some_and(|gateway| covers(address, gateway)));
    default_route(route, near.or_else(|| own.next()).map(fields6), link)
}

fn default_route<A: ToString>(
    route: &DefaultRoute<A>,
    address: Option<Map<String, Value>>,
    link: &Value,
) -> Map<String, Value> {
    let gateway = route.gateway.as_ref().map(A::to_string);
    let mut fields = present(json!({"interface": route.interface, "gateway": gateway}));
    if let Some(address) = address {
        let kind = link.get("type").cloned().unwrap_or_else(|| json!("unknown"));
        fields.extend(present(json!({"macaddress": link.get("macaddress"), "mtu": link.get("mtu"), "type": kind})));
        fields.extend(address);
    }
    fields
}

fn mask4(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32_u32.saturating_sub(prefix.into())).unwrap_or_default()
}

fn fields4(address: &Address4) -> Map<String, Value> {
    let mask = mask4(address.prefix);
    present(json!({
        "address": address.address,
        "netmask": Ipv4Addr::from(mask),
        "network": Ipv4Addr::from(u32::from(address.address) & mask),
        "prefix": address.prefix.to_string(),
        "broadcast": address.broadcast,
    }))
}

fn fields6(address: &Address6) -> Map<String, Value> {
    present(json!({"address": address.address, "prefix": address.prefix.to_string(), "scope": address.scope}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(address: &str, label: &str, secondary: bool) -> Address4 {
        Address4 {
            interface: Some("eth0".to_owned()),
            label: Some(label.to_owned()),
            address: address.parse().unwrap(),
            prefix: 24,
            broadcast: Some(String::new()),
            secondary,
        }
    }

    #[test]
    fn labels_make_interfaces_and_further_addresses_are_listed() {
        let mut links = Map::from_iter([("eth0".to_owned(), json!({"device": "eth0"}))]);
        add4(&mut links, &address("10.0.0.1", "eth0", false));
        add4(&mut links, &address("10.0.1.1", "eth0", false));
        add4(&mut links, &address("10.0.0.2", "eth0:1", true));
        let brief = |list: &Value| list.as_array().unwrap().iter().map(|a| a["address"].clone()).collect::<Vec<_>>();
        assert_eq!(links["eth0"]["ipv4"]["address"], "10.0.0.1");
        assert_eq!(brief(&links["eth0"]["ipv4_secondaries"]), ["10.0.1.1", "10.0.0.2"]);
        assert_eq!(brief(&links["eth0:1"]["ipv4_secondaries"]), ["10.0.0.2"]);
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
            let fields = fields4(&address);
            assert_eq!((fields["network"].as_str().unwrap(), fields["netmask"].as_str().unwrap()), (network, mask));
            assert!(!fields.contains_key("broadcast"));
        }
    }
}
