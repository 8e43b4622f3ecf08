//! The manufacturer and model of the machine, from its DMI table.

use crate::gathering::Collector;
use crate::source::Source;

const DIRECTORY: &str = "/sys/devices/virtual/dmi/id";

/// Ansible's value for a field that the machine does not report.
const UNKNOWN: &str = "NA";

/// Facts, and the files that hold them.
const FACTS: [(&str, &str); 17] = [
    ("bios_date", "bios_date"),
    ("bios_vendor", "bios_vendor"),
    ("bios_version", "bios_version"),
    ("board_asset_tag", "board_asset_tag"),
    ("board_name", "board_name"),
    ("board_serial", "board_serial"),
    ("board_vendor", "board_vendor"),
    ("board_version", "board_version"),
    ("chassis_asset_tag", "chassis_asset_tag"),
    ("chassis_serial", "chassis_serial"),
    ("chassis_vendor", "chassis_vendor"),
    ("chassis_version", "chassis_version"),
    ("product_name", "product_name"),
    ("product_serial", "product_serial"),
    ("product_uuid", "product_uuid"),
    ("product_version", "product_version"),
    ("system_vendor", "sys_vendor"),
];

/// The enclosure types, indexed by their number in the SMBIOS specification (DSP0134, table 17),
/// with Ansible's words.
const FORM_FACTORS: [&str; 37] = [
    "Unknown",
    "Other",
    "Unknown",
    "Desktop",
    "Low Profile Desktop",
    "Pizza Box",
    "Mini Tower",
    "Tower",
    "Portable",
    "Laptop",
    "Notebook",
    "Hand Held",
    "Docking Station",
    "All In One",
    "Sub Notebook",
    "Space-saving",
    "Lunch Box",
    "Main Server Chassis",
    "Expansion Chassis",
    "Sub Chassis",
    "Bus Expansion Chassis",
    "Peripheral Chassis",
    "RAID Chassis",
    "Rack Mount Chassis",
    "Sealed-case PC",
    "Multi-system",
    "CompactPCI",
    "AdvancedTCA",
    "Blade",
    "Blade Enclosure",
    "Tablet",
    "Convertible",
    "Detachable",
    "IoT Gateway",
    "Embedded PC",
    "Mini PC",
    "Stick PC",
];

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    for (fact, file) in FACTS {
        let value = match source.value(&format!("{DIRECTORY}/{file}")) {
            Ok(value) => value,
            Err(reason) => {
                // Report a field that exists but is not readable: only root may read serial
                // numbers. Many machines have no table at all, and that is not an error.
                if !reason.is_missing() && !reason.is_empty() {
                    gathering.miss(fact, reason.to_string());
                }
                board(source, fact).unwrap_or_else(|| UNKNOWN.to_owned())
            }
        };
        gathering.set(fact, value);
    }
    let form = source.number(&format!("{DIRECTORY}/chassis_type")).map_or_else(
        |_| UNKNOWN.to_owned(),
        |number| {
            let known = usize::try_from(number).ok().and_then(|index| FORM_FACTORS.get(index));
            known.map_or_else(|| format!("unknown ({number})"), |name| (*name).to_owned())
        },
    );
    gathering.set("form_factor", form);
}

/// Returns the name or serial number from the device tree, which boards without DMI have.
fn board(source: &Source, fact: &str) -> Option<String> {
    let file = match fact {
        "product_name" => "model",
        "product_serial" => "serial-number",
        _ => return None,
    };
    source.value(&format!("/proc/device-tree/{file}")).ok()
}
