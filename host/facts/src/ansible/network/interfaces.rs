//! The network interfaces, from `/sys/class/net`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::collector::present;
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
    let kind = |number: String| KINDS.iter().find(|(known, _)| *known == number).map_or("unknown", |(_, name)| name);
    let flags = text("flags").and_then(|flags| u32::from_str_radix(flags.strip_prefix("0x")?, 16).ok());
    let mut link = present(json!({
        "device": name,
        "macaddress": text("address").filter(|address| address != "00:00:00:00:00:00"),
        "mtu": text("mtu").and_then(|mtu| mtu.parse::<u64>().ok()),
        "active": text("operstate").map(|state| state != "down"),
        "module": source.link_name(&format!("{directory}/device/driver/module")),
        "type": text("type").map(kind),
        "pciid": source.link_name(&format!("{directory}/device")),
        "speed": text("speed").and_then(|speed| speed.parse::<i64>().ok()),
        "promisc": flags.map(|flags| flags & PROMISCUOUS != 0),
        "perm_macaddress": text("bonding_slave/perm_hwaddr"),
    }));
    if source.exists(&format!("{directory}/bridge")) {
        link.extend(present(json!({
            "type": "bridge",
            "interfaces": source.names(&format!("{directory}/brif")).unwrap_or_default(),
            "id": text("bridge/bridge_id"),
            "stp": text("bridge/stp_state").map(|state| state == "1"),
        })));
    }
    if source.exists(&format!("{directory}/bonding")) {
        let bonding = |file: &str| text(&format!("bonding/{file}"));
        // Files for a choice hold its name and its number.
        let first = |file: &str| {
            bonding(file).unwrap_or_default().split_ascii_whitespace().next().unwrap_or_default().to_owned()
        };
        let slaves = bonding("slaves").unwrap_or_default();
        let primary = bonding("primary");
        let all_active = primary.as_ref().and_then(|_| bonding("all_slaves_active")).map(|all| all == "1");
        link.extend(present(json!({
            "type": "bonding",
            "slaves": slaves.split_ascii_whitespace().collect::<Vec<_>>(),
            "mode": first("mode"),
            "miimon": first("miimon"),
            "lacp_rate": first("lacp_rate"),
            "primary": primary,
            "all_slaves_active": all_active,
        })));
    }
    link
}
