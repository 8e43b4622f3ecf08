//! Interfaces, addresses, routes and name servers.

mod addresses;
mod interfaces;
mod resolver;
mod routes;

use std::collections::BTreeMap;

use super::gather::Gathering;
use super::source::{SMALL, TABLE};

pub(super) fn gather(gathering: &mut Gathering<'_>) {
    let source = gathering.source;
    let mut links = interfaces::links(gathering);

    let routes = source.text(&source.process_file("net/route"), TABLE);
    let routes = gathering.keep_if_there("default_ipv4", routes).map(|text| routes::ipv4(&text)).unwrap_or_default();
    gathering.facts.host.default_ipv4 = routes::default_ipv4(&routes);
    let trie = source.text(&source.process_file("net/fib_trie"), TABLE);
    if let Some(text) = gathering.keep_if_there("all_ipv4_addresses", trie) {
        let local = addresses::local_ipv4(&text);
        addresses::assign_ipv4(&local, &routes, links.as_mut().unwrap_or(&mut BTreeMap::new()));
        let others = local.iter().filter(|address| !address.is_loopback());
        gathering.facts.host.all_ipv4_addresses = Some(others.map(ToString::to_string).collect());
    }

    // A kernel without IPv6 has neither of these files, and that is no error.
    let routes = source.text(&source.process_file("net/ipv6_route"), TABLE);
    let routes = gathering.keep_if_there("default_ipv6", routes);
    gathering.facts.host.default_ipv6 = routes.as_deref().and_then(routes::default_ipv6);
    let table = source.text(&source.process_file("net/if_inet6"), TABLE);
    if let Some(text) = gathering.keep_if_there("all_ipv6_addresses", table) {
        let mut all = Vec::new();
        for (interface, address) in addresses::ipv6(&text) {
            if address.scope != "host" {
                all.push(address.address.clone());
            }
            if let Some(link) = links.as_mut().and_then(|links| links.get_mut(&interface)) {
                link.ipv6.push(address);
            }
        }
        gathering.facts.host.all_ipv6_addresses = Some(all);
    }

    gathering.facts.host.interfaces = links.as_ref().map(|links| links.keys().cloned().collect());
    gathering.facts.host.links = links;
    let resolver = source.text("/etc/resolv.conf", SMALL);
    gathering.facts.host.dns = gathering.keep("dns", resolver).map(|text| resolver::dns(&text));
}
