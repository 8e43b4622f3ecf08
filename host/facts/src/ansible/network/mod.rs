//! Interfaces, addresses and routes.

mod addresses;
mod interfaces;
mod netlink;
mod routes;

use serde_json::{Map, Value, json};

use addresses::{Address4, Address6};

use crate::gathering::Collector;
use crate::source::{Source, TABLE};

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let names = gathering.keep("interfaces", source.names(interfaces::CLASS)).unwrap_or_default();
    let mut links = interfaces::links(source, &names);

    let routes = source.text(&source.process_file("net/route"), TABLE);
    let routes = gathering.keep_if_there("default_ipv4", routes).map(|text| routes::ipv4(&text)).unwrap_or_default();
    let trie = source.text(&source.process_file("net/fib_trie"), TABLE);
    let trie = gathering.keep_if_there("all_ipv4_addresses", trie).unwrap_or_default();
    // Kernels without IPv6 have neither of these files. That is not an error.
    let routes6 = source.text(&source.process_file("net/ipv6_route"), TABLE);
    let routes6 = gathering.keep_if_there("default_ipv6", routes6).unwrap_or_default();
    let table6 = source.text(&source.process_file("net/if_inet6"), TABLE);
    let table6 = gathering.keep_if_there("all_ipv6_addresses", table6).unwrap_or_default();

    let index = interfaces::by_index(source, &names);
    let asked = if is_our_network(source) { netlink::addresses(&index) } else { None };
    let (ipv4, ipv6) = asked.unwrap_or_else(|| (addresses::from_trie(&trie, &routes), addresses::ipv6(&table6)));
    let default4 = routes::default_ipv4(&routes);
    let default6 = routes::default_ipv6(&routes6);
    let of_link = |name: &str| links.get(name).cloned().unwrap_or_default();
    let default_ipv4 = default4.map(|route| addresses::default4(&route, &ipv4, &of_link(&route.interface)));
    let default_ipv6 = default6.map(|route| addresses::default6(&route, &ipv6, &of_link(&route.interface)));
    gathering.set("default_ipv4", default_ipv4.unwrap_or_default());
    gathering.set("default_ipv6", default_ipv6.unwrap_or_default());
    let outside4 = ipv4.iter().filter(|address| !address.address.is_loopback());
    gathering.set("all_ipv4_addresses", outside4.map(|address| address.address.to_string()).collect::<Vec<_>>());
    let outside6 = ipv6.iter().filter(|address| !address.address.is_loopback());
    gathering.set("all_ipv6_addresses", outside6.map(|address| address.address.to_string()).collect::<Vec<_>>());
    let reachable = json!({"ipv4": addresses::reachable4(&trie), "ipv6": routes::reachable6(&routes6)});
    gathering.set("locally_reachable_ips", reachable);

    for address in ipv4 {
        add4(&mut links, &address);
    }
    for address in ipv6 {
        add6(&mut links, &address);
    }
    let names: Vec<String> = links.keys().map(|name| safe(name)).collect();
    gathering.set("interfaces", names);
    for (name, link) in links {
        gathering.set_dynamic(&safe(&name), link);
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
    let fields = address.fields();
    let label = address.label.as_deref().unwrap_or(interface);
    let place = links.entry(label).or_insert_with(|| json!({}));
    let Value::Object(place) = place else { return };
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

fn add6(links: &mut Map<String, Value>, address: &Address6) {
    if let Some(Value::Object(place)) = links.get_mut(&address.interface) {
        push(place, "ipv6", address.fields());
    }
}

fn push(place: &mut Map<String, Value>, key: &str, fields: Map<String, Value>) {
    if let Value::Array(list) = place.entry(key).or_insert_with(|| json!([])) {
        list.push(fields.into());
    }
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
}
