//! The processors, with their cores and threads.

use serde_json::Value;

use crate::gathering::Collector;
use crate::source::{SMALL, Source, Unreadable, brief};

const CPUINFO: &str = "/proc/cpuinfo";

/// Size limit for `/proc/cpuinfo` in bytes. A machine with 1,024 processors has 1.6 MiB.
const MAX_CPUINFO: u64 = 8 << 20;

/// Upper limit for the number of processors, above that of any real machine. A larger number in a
/// file is invalid.
const MAX_PROCESSORS: u64 = 1 << 20;

/// The fields that Ansible lists under `processor`, for each processor in file order.
const LISTED: [&str; 6] = ["model name", "Processor", "vendor_id", "cpu", "Vendor", "processor"];

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let Some(text) = gathering.keep("processor", source.text(CPUINFO, MAX_CPUINFO)) else { return };
    let found = Processors::read(&text, gathering.text("architecture"));
    let usable = gathering.keep("processor_nproc", usable(source));
    gathering.set("processor", found.listed);
    if let Some(flags) = found.flags {
        gathering.set("flags", flags);
    }
    gathering.set("processor_count", found.count);
    gathering.set("processor_cores", found.cores);
    gathering.set("processor_threads_per_core", found.threads);
    gathering.set("processor_vcpus", found.count * found.cores * found.threads);
    gathering.set("processor_nproc", usable.unwrap_or(found.entries));
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
    fn read(text: &str, architecture: &str) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_by_ranges() {
        for (ranges, want) in [("0", Some(1)), ("0-3", Some(4)), ("0-3,8-11", Some(8)), ("0,2,4-5", Some(4))] {
            assert_eq!(count(ranges), want, "{ranges}");
        }
        for ranges in ["", "x", "3-1", "0-", "0-18446744073709551615", "0-99999999999"] {
            assert_eq!(count(ranges), None, "{ranges}");
        }
    }

    fn told(text: &str, architecture: &str) -> (Vec<Value>, [u64; 3]) {
        let found = Processors::read(text, architecture);
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
        let (listed, counts) = told(&text, "x86_64");
        assert_eq!(counts, [2, 2, 2]);
        assert_eq!(listed.len(), 24);
        assert_eq!(listed.get(..3).unwrap(), ["0", "GenuineIntel", "Xeon"]);
    }

    #[test]
    fn arm_power_and_rubbish() {
        let arm = "processor\t: 0\nBogoMIPS\t: 50\nFeatures\t: fp\n\nprocessor\t: 1\nCPU part\t: 0xd0c\n";
        assert_eq!(told(arm, "aarch64"), (vec!["0".into(), "1".into()], [2, 1, 1]));
        let power = "processor\t: 0\ncpu\t\t: POWER9\n\nprocessor\t: 1\ncpu\t\t: POWER9\n";
        assert_eq!(told(power, "ppc64le").1, [2, 1, 1]);
        assert_eq!(told("cpu cores: 0\nsiblings: 99999999999999999999\n", "x86_64").1, [0, 1, 1]);
    }
}
