//! Processors, memory and firmware.

use serde_json::{Value, json};

use crate::collector::Collector;
use crate::source::{SMALL, Source, Unreadable, brief};

const CPUINFO: &str = "/proc/cpuinfo";
pub(crate) const MEMINFO: &str = "/proc/meminfo";
const UPTIME: &str = "/proc/uptime";
const LOADAVG: &str = "/proc/loadavg";
pub(super) const DMI: &str = "/sys/devices/virtual/dmi/id";

/// Size limit for `/proc/cpuinfo` in bytes. A machine with 1,024 processors has 1.6 MiB.
const MAX_CPUINFO: u64 = 8 << 20;

/// Upper limit for the number of processors, above that of any real machine. A larger number in a
/// file is invalid.
const MAX_PROCESSORS: u64 = 1 << 20;

/// The fields that Ansible lists under `processor`, for each processor in file order.
const LISTED: [&str; 6] = ["model name", "Processor", "vendor_id", "cpu", "Vendor", "processor"];

/// Ansible's value for a field that the machine does not report.
const UNKNOWN: &str = "NA";

/// Facts, and the files of the DMI table that hold them.
const DMI_FACTS: [(&str, &str); 17] = [
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

pub(super) fn processors(collector: &mut Collector<'_>) {
    let source = collector.source;
    let Some(text) = collector.keep("processor", source.text(CPUINFO, MAX_CPUINFO)) else { return };
    let found = Processors::parse(&text, collector.text("architecture"));
    let usable = collector.keep("processor_nproc", usable(source));
    collector.set("processor", found.listed);
    if let Some(flags) = found.flags {
        collector.set("flags", flags);
    }
    collector.set("processor_count", found.count);
    collector.set("processor_cores", found.cores);
    collector.set("processor_threads_per_core", found.threads);
    collector.set("processor_vcpus", found.count * found.cores * found.threads);
    collector.set("processor_nproc", usable.unwrap_or(found.entries));
}

/// The counts of `/proc/cpuinfo`, computed as Ansible does.
#[derive(Debug, Default, PartialEq, Eq)]
struct Processors {
    listed: Vec<Value>,
    flags: Option<Vec<String>>,
    /// Number of sockets, or of entries if the file does not name sockets.
    count: u64,
    /// Cores per socket.
    cores: u64,
    /// Threads per core.
    threads: u64,
    /// Number of `processor` entries.
    entries: u64,
}

impl Processors {
    fn parse(text: &str, architecture: &str) -> Self {
        let mut found = Self { cores: 1, threads: 1, ..Self::default() };
        let mut sockets: Vec<&str> = Vec::new();
        let (mut vendors, mut models, mut cores, mut siblings) = (0_u64, 0_u64, None, None);
        for line in text.lines() {
            let (key, value) =
                line.split_once(':').map_or((line.trim(), ""), |(key, value)| (key.trim(), value.trim()));
            if LISTED.contains(&key) {
                found.listed.push(value.into());
            }
            let number = || value.parse::<u64>().ok().filter(|number| (1..MAX_PROCESSORS).contains(number));
            match key {
                "processor" => found.entries += 1,
                "vendor_id" => vendors += 1,
                "model name" => models += 1,
                // Every processor has all flags of the machine. The last one wins, as in Ansible.
                "flags" => found.flags = Some(value.split_ascii_whitespace().map(str::to_owned).collect()),
                "physical id" if !sockets.contains(&value) => sockets.push(value),
                "cpu cores" => cores = cores.or_else(number),
                "siblings" => siblings = siblings.or_else(number),
                _ => {}
            }
        }
        let arm_or_power = ["armv", "aarch", "ppc"].iter().any(|prefix| architecture.starts_with(prefix));
        let listed = u64::try_from(found.listed.len()).unwrap_or_default();
        found.count = match sockets.len() {
            0 if arm_or_power => found.entries,
            0 if vendors > 0 && vendors == models => vendors,
            0 => listed,
            sockets => u64::try_from(sockets).unwrap_or_default(),
        };
        found.cores = cores.unwrap_or(1);
        // Siblings are the threads of a socket.
        found.threads = siblings.map_or(1, |siblings| (siblings + found.cores / 2) / found.cores);
        found
    }
}

/// Returns the number of processors that a process may use, as `nproc` prints it.
fn usable(source: &Source) -> Result<u64, Unreadable> {
    let path = source.process_file("status");
    let text = source.text(&path, SMALL)?;
    let ranges = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim);
    let ranges = ranges.ok_or_else(|| Unreadable::malformed(&path, "has no line `Cpus_allowed_list`"))?;
    count(ranges).ok_or_else(|| {
        Unreadable::malformed(&path, format!("expected ranges such as `0-3`, found `{}`", brief(ranges)))
    })
}

/// Counts the members of a list such as `0-3,8-11`.
fn count(ranges: &str) -> Option<u64> {
    let mut sum = 0_u64;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        sum = sum.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    (sum <= MAX_PROCESSORS).then_some(sum)
}

pub(super) fn memory(collector: &mut Collector<'_>) {
    let source = collector.source;
    if let Some(text) = collector.keep("memtotal_mb", source.text(MEMINFO, SMALL)) {
        for (name, key) in [
            ("memtotal_mb", "MemTotal"),
            ("memfree_mb", "MemFree"),
            ("swaptotal_mb", "SwapTotal"),
            ("swapfree_mb", "SwapFree"),
        ] {
            collector.keep_as(name, mebibytes(&text, key));
        }
        collector.set("memory_mb", memory_overview(&text));
    }
    collector.keep_as("uptime_seconds", source.value(UPTIME).and_then(|text| uptime(&text)));
    collector.keep_as("loadavg", source.value(LOADAVG).and_then(|text| load(&text)));
}

/// Returns the same numbers of `/proc/meminfo`, and the values derived from them. A missing number
/// is `null`, and so is every value derived from it.
fn memory_overview(text: &str) -> Value {
    let read = |key: &str| mebibytes(text, key).ok().and_then(|number| i64::try_from(number).ok());
    let less = |a: Option<i64>, b: Option<i64>| Some(a? - b?);
    let (total, free) = (read("MemTotal"), read("MemFree"));
    let (swap_total, swap_free) = (read("SwapTotal"), read("SwapFree"));
    let without_cache = || Some(free? + read("Cached")? + read("Buffers")?);
    json!({
        "real": {"total": total, "used": less(total, free), "free": free},
        "nocache": {"free": without_cache(), "used": less(total, without_cache())},
        "swap": {"total": swap_total, "free": swap_free, "used": less(swap_total, swap_free), "cached": read("SwapCached")},
    })
}

/// Returns the value of `key` in `/proc/meminfo` in whole MiB. The file counts in KiB.
pub(crate) fn mebibytes(text: &str, key: &str) -> Result<u64, Unreadable> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let line = line.ok_or_else(|| Unreadable::malformed(MEMINFO, format!("has no line `{key}`")))?;
    let number = line.trim().strip_suffix("kB").unwrap_or(line).trim();
    match number.parse::<u64>() {
        Ok(kibibytes) => Ok(kibibytes >> 10),
        Err(_) => Err(Unreadable::malformed(
            MEMINFO,
            format!("expected a number after `{key}:`, found `{}`", brief(line.trim())),
        )),
    }
}

/// Parses the first number of `/proc/uptime`, without its fraction.
fn uptime(text: &str) -> Result<u64, Unreadable> {
    text.split(['.', ' '])
        .next()
        .and_then(|whole| whole.parse().ok())
        .ok_or_else(|| Unreadable::malformed(UPTIME, format!("expected seconds, found `{}`", brief(text))))
}

/// Parses the first three numbers of `/proc/loadavg`: the load over one, five and fifteen minutes.
fn load(text: &str) -> Result<Value, Unreadable> {
    let numbers: Vec<f64> = text.split_ascii_whitespace().take(3).filter_map(|number| number.parse().ok()).collect();
    let [one, five, fifteen] = *numbers.as_slice() else {
        return Err(Unreadable::malformed(LOADAVG, format!("expected three numbers, found `{}`", brief(text))));
    };
    Ok(json!({"1m": one, "5m": five, "15m": fifteen}))
}

/// Gathers the manufacturer and model of the machine, from its DMI table.
pub(super) fn firmware(collector: &mut Collector<'_>) {
    let source = collector.source;
    for (fact, file) in DMI_FACTS {
        let value = source.value(&format!("{DMI}/{file}")).unwrap_or_else(|reason| {
            // Report a field that exists but is not readable: only root may read serial numbers.
            // Many machines have no table at all, and that is not an error.
            if !reason.is_missing() && !reason.is_empty() {
                collector.miss(fact, reason.to_string());
            }
            // Boards without DMI have a device tree.
            let board = match fact {
                "product_name" => source.value("/proc/device-tree/model").ok(),
                "product_serial" => source.value("/proc/device-tree/serial-number").ok(),
                _ => None,
            };
            board.unwrap_or_else(|| UNKNOWN.to_owned())
        });
        collector.set(fact, value);
    }
    let form = source.number(&format!("{DMI}/chassis_type")).map_or(UNKNOWN.to_owned(), |number| {
        let known = usize::try_from(number).ok().and_then(|index| FORM_FACTORS.get(index));
        known.map_or_else(|| format!("unknown ({number})"), |name| (*name).to_owned())
    });
    collector.set("form_factor", form);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_become_whole_mebibytes() {
        let text = "MemTotal:        2097151 kB\nMemTotalX: 5 kB\nSwapTotal:             0 kB\nBad: lots\n";
        assert_eq!(mebibytes(text, "MemTotal").unwrap(), 2047);
        assert_eq!(mebibytes(text, "SwapTotal").unwrap(), 0);
        assert_eq!(mebibytes(text, "MemFree").unwrap_err().to_string(), "/proc/meminfo: has no line `MemFree`");
        assert_eq!(
            mebibytes(text, "Bad").unwrap_err().to_string(),
            "/proc/meminfo: expected a number after `Bad:`, found `lots`"
        );
    }

    #[test]
    fn an_uptime_and_a_load_without_numbers_are_errors() {
        assert!(uptime("soon").unwrap_err().to_string().contains("found `soon`"));
        assert!(load("0.50 x").unwrap_err().to_string().contains("found `0.50 x`"));
    }

    #[test]
    fn processors_are_counted_by_ranges() {
        for (ranges, want) in [("0", Some(1)), ("0-3", Some(4)), ("0-3,8-11", Some(8)), ("0,2,4-5", Some(4))] {
            assert_eq!(count(ranges), want, "{ranges}");
        }
        for ranges in ["", "x", "3-1", "0-", "0-18446744073709551615", "0-99999999999"] {
            assert_eq!(count(ranges), None, "{ranges}");
        }
    }

    fn parsed(text: &str, architecture: &str) -> (Vec<Value>, [u64; 3]) {
        let found = Processors::parse(text, architecture);
        (found.listed, [found.count, found.cores, found.threads])
    }

    #[test]
    fn two_sockets_of_two_cores_of_two_threads() {
        let entry = |number: u32, socket: u32| {
            format!(
                "processor\t: {number}\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon\nphysical id\t: {socket}\nsiblings\t: 4\ncore id\t\t: 0\ncpu cores\t: 2\nflags\t\t: fpu vme\n\n"
            )
        };
        let text: String = (0..8).map(|number| entry(number, number / 4)).collect();
        let (listed, counts) = parsed(&text, "x86_64");
        assert_eq!(counts, [2, 2, 2]);
        assert_eq!(listed.len(), 24);
        assert_eq!(listed.get(..3).unwrap(), ["0", "GenuineIntel", "Xeon"]);
    }

    #[test]
    fn arm_power_and_rubbish() {
        let arm = "processor\t: 0\nBogoMIPS\t: 50\nFeatures\t: fp\n\nprocessor\t: 1\nCPU part\t: 0xd0c\n";
        assert_eq!(parsed(arm, "aarch64"), (vec!["0".into(), "1".into()], [2, 1, 1]));
        let power = "processor\t: 0\ncpu\t\t: POWER9\n\nprocessor\t: 1\ncpu\t\t: POWER9\n";
        assert_eq!(parsed(power, "ppc64le").1, [2, 1, 1]);
        assert_eq!(parsed("cpu cores: 0\nsiblings: 99999999999999999999\n", "x86_64").1, [0, 1, 1]);
    }
}
