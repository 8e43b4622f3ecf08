//! The network interfaces, from `/sys/class/net`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::source::Source;

pub(super) const CLASS: &str = "/sys/class/net";

/// Interface types by their number in `if_arp.h`. All others are `unknown`.
const KINDS: [(&str, &str); 5] =
    [("1", "ether"), ("32", "infiniband"), ("512", "ppp"), ("772", "loopback"), ("65534", "tunnel")];

/// The flag of `netdevice(7)` for an interface that accepts every packet (`IFF_PROMISC`).
const PROMISCUOUS: u32 = 0x100;

/// Returns the interface names by index.
pub(super) fn by_index(source: &Source, names: &[String]) -> BTreeMap<u64, String> {
    let number = |name: &String| Some((source.number(&format!("{CLASS}/{name}/ifindex")).ok()?, name.clone()));
    names.iter().filter_map(number).collect()
}

/// Returns the interfaces without their addresses.
pub(super) fn links(source: &Source, names: &[String]) -> Map<String, Value> {
    // The directory also holds plain files, such as `bonding_masters`.
    let interfaces = names.iter().filter(|name| source.is_directory(&format!("{CLASS}/{name}")));
    interfaces.map(|name| (name.clone(), Value::Object(link(source, name)))).collect()
}

fn link(source: &Source, name: &str) -> Map<String, Value> {
    let directory = format!("{CLASS}/{name}");
    let text = |file: &str| source.value(&format!("{directory}/{file}")).ok();
    let mut link = Map::new();
    let mut put = |key: &str, value: Value| drop(link.insert(key.to_owned(), value));
    put("device", name.into());
    if let Some(address) = text("address").filter(|address| address != "00:00:00:00:00:00") {
        put("macaddress", address.into());
    }
    if let Some(mtu) = text("mtu").and_then(|mtu| mtu.parse::<u64>().ok()) {
        put("mtu", mtu.into());
    }
    if let Some(state) = text("operstate") {
        put("active", (state != "down").into());
    }
    if let Some(module) = source.link_name(&format!("{directory}/device/driver/module")) {
        put("module", module.into());
    }
    if let Some(kind) = text("type") {
        let known = KINDS.iter().find(|(number, _)| *number == kind).map_or("unknown", |(_, name)| name);
        put("type", known.into());
    }
    if let Some(device) = source.link_name(&format!("{directory}/device")) {
        put("pciid", device.into());
    }
    if let Some(speed) = text("speed").and_then(|speed| speed.parse::<i64>().ok()) {
        put("speed", speed.into());
    }
    if let Some(flags) = text("flags").and_then(|flags| u32::from_str_radix(flags.strip_prefix("0x")?, 16).ok()) {
        put("promisc", (flags & PROMISCUOUS != 0).into());
    }
    if source.exists(&format!("{directory}/bridge")) {
        link.extend(bridge(source, &directory));
    }
    if source.exists(&format!("{directory}/bonding")) {
        link.extend(bond(source, &directory));
    }
    if let Ok(address) = source.value(&format!("{directory}/bonding_slave/perm_hwaddr")) {
        link.insert("perm_macaddress".to_owned(), address.into());
    }
    link
}

fn bridge(source: &Source, directory: &str) -> Vec<(String, Value)> {
    let text = |file: &str| source.value(&format!("{directory}/bridge/{file}")).ok();
    let ports = source.names(&format!("{directory}/brif")).unwrap_or_default();
    let mut told = vec![("type".to_owned(), "bridge".into()), ("interfaces".to_owned(), ports.into())];
    told.extend(text("bridge_id").map(|id| ("id".to_owned(), id.into())));
    told.extend(text("stp_state").map(|state| ("stp".to_owned(), (state == "1").into())));
    told
}

fn bond(source: &Source, directory: &str) -> Vec<(String, Value)> {
    let text = |file: &str| source.value(&format!("{directory}/bonding/{file}")).unwrap_or_default();
    // Files for a choice hold its name and its number.
    let first = |file: &str| text(file).split_ascii_whitespace().next().unwrap_or_default().to_owned();
    let slaves: Vec<String> = text("slaves").split_ascii_whitespace().map(str::to_owned).collect();
    let mut told = vec![("type", "bonding".into()), ("slaves", json!(slaves))];
    told.extend(["mode", "miimon", "lacp_rate"].map(|file| (file, first(file).into())));
    let primary = text("primary");
    if !primary.is_empty() {
        told.push(("primary", primary.into()));
        let all = text("all_slaves_active");
        if !all.is_empty() {
            told.push(("all_slaves_active", (all == "1").into()));
        }
    }
    told.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn bridges_and_bonds_tell_their_members() {
        let tree = Tree::new();
        for (path, content) in [
            ("/sys/class/net/bonding_masters", "bond0\n"),
            ("/sys/class/net/cni0/type", "1\n"),
            ("/sys/class/net/cni0/flags", "0x1103\n"),
            ("/sys/class/net/cni0/operstate", "up\n"),
            ("/sys/class/net/cni0/bridge/bridge_id", "8000.0a58\n"),
            ("/sys/class/net/cni0/bridge/stp_state", "0\n"),
            ("/sys/class/net/cni0/brif/veth1/state", "3\n"),
            ("/sys/class/net/bond0/type", "1\n"),
            ("/sys/class/net/bond0/bonding/slaves", "eth0 eth1\n"),
            ("/sys/class/net/bond0/bonding/mode", "802.3ad 4\n"),
            ("/sys/class/net/bond0/bonding/miimon", "100\n"),
            ("/sys/class/net/bond0/bonding/lacp_rate", "fast 1\n"),
        ] {
            tree.file(path, content);
        }
        let source = Source::new(tree.root());
        let told = links(&source, &source.names(CLASS).unwrap());
        assert_eq!(
            Value::from(told),
            json!({
                "cni0": {
                    "device": "cni0", "type": "bridge", "active": true, "promisc": true,
                    "interfaces": ["veth1"], "id": "8000.0a58", "stp": false,
                },
                "bond0": {
                    "device": "bond0", "type": "bonding", "slaves": ["eth0", "eth1"],
                    "mode": "802.3ad", "miimon": "100", "lacp_rate": "fast",
                },
            })
        );
    }
}
