//! The interfaces, from `/sys/class/net`.

use std::collections::BTreeMap;

use crate::facts::data::Link;
use crate::facts::gather::Gathering;

const CLASS: &str = "/sys/class/net";

/// `None`, and an error among the facts, where the directory cannot be read.
pub(super) fn links(gathering: &mut Gathering<'_>) -> Option<BTreeMap<String, Link>> {
    let source = gathering.source;
    let names = gathering.keep("interfaces", source.names(CLASS))?;
    let mut links = BTreeMap::new();
    for name in names {
        let directory = format!("{CLASS}/{name}");
        // The directory also holds plain files, such as `bonding_masters`.
        if !source.exists(&format!("{directory}/flags")) {
            continue;
        }
        let active = match source.value(&format!("{directory}/operstate")).as_deref() {
            Ok("up") => Some(true),
            // Loopback and simple tunnels have no state; there the flag IFF_UP tells.
            Ok("unknown") => source.value(&format!("{directory}/flags")).ok().and_then(|flags| is_up(&flags)),
            Ok(_) => Some(false),
            Err(_) => None,
        };
        let macaddress =
            source.value(&format!("{directory}/address")).ok().filter(|address| is_hardware_address(address));
        let mtu = gathering.keep(&format!("links.{name}.mtu"), source.number(&format!("{directory}/mtu")));
        links.insert(name, Link { active, macaddress, mtu, ..Link::default() });
    }
    Some(links)
}

/// Bit 0 of the flags of `netdevice(7)`, written in hexadecimal.
fn is_up(flags: &str) -> Option<bool> {
    u32::from_str_radix(flags.strip_prefix("0x")?, 16).ok().map(|flags| flags & 1 == 1)
}

/// Loopback and tunnels show zeros.
fn is_hardware_address(text: &str) -> bool {
    text.contains(':') && text.bytes().any(|b| b != b'0' && b != b':')
}
