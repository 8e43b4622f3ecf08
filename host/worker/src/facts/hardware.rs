//! Processors, and who made the machine.

use super::gather::Gathering;
use super::source::{SMALL, Source, Unreadable, brief};

const CPUINFO: &str = "/proc/cpuinfo";
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Keys of `/proc/cpuinfo` that hold a model, by architecture: x86, s390 and RISC-V boards, POWER, MIPS, old ARM.
const MODEL_KEYS: [&str; 6] = ["model name", "uarch", "cpu", "cpu model", "Processor", "processor 0"];

/// More processors than any machine has; a larger number in a file is rubbish.
const MAX_PROCESSORS: u64 = 1 << 20;

pub(super) fn gather(gathering: &mut Gathering<'_>) {
    let source = gathering.source;
    gathering.facts.host.processor_vcpus = gathering.keep("processor_vcpus", online(source));
    gathering.facts.host.processor_model = gathering.keep("processor_model", model(source));
    // Only machines with firmware that has a DMI table have these; boards with a device tree name themselves there.
    let vendor = source.value("/sys/class/dmi/id/sys_vendor");
    gathering.facts.host.system_vendor = gathering.keep_if_there("system_vendor", vendor);
    let product = match source.value("/sys/class/dmi/id/product_name") {
        Err(reason) if reason.is_missing() => source.value("/proc/device-tree/model"),
        other => other,
    };
    gathering.facts.host.product_name = gathering.keep_if_there("product_name", product);
}

fn online(source: &Source) -> Result<u64, Unreadable> {
    let ranges = source.value(ONLINE)?;
    count(&ranges).ok_or_else(|| {
        Unreadable::malformed(ONLINE, format!("expected ranges such as `0-3`, found `{}`", brief(&ranges)))
    })
}

/// Members of a list such as `0-3,8-11`.
fn count(ranges: &str) -> Option<u64> {
    let mut sum = 0_u64;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        sum = sum.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    (sum <= MAX_PROCESSORS).then_some(sum)
}

/// The first processor's model stands in the first block, so the beginning of the file is enough (on a machine with 256 processors the
/// whole has 400 KiB).
fn model(source: &Source) -> Result<String, Unreadable> {
    let text = source.head(CPUINFO, SMALL)?.text;
    let value = |key: &str| {
        text.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
            let value = value.trim();
            (name.trim() == key && !value.is_empty()).then(|| value.to_owned())
        })
    };
    if let Some(model) = MODEL_KEYS.iter().find_map(|key| value(key)) {
        return Ok(model);
    }
    // 64-bit ARM has numbers in place of a name.
    match (value("CPU implementer"), value("CPU part")) {
        (Some(implementer), Some(part)) => Ok(format!("ARM implementer {implementer} part {part}")),
        _ => Err(Unreadable::malformed(CPUINFO, "names no model")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fixture::Tree;

    #[test]
    fn processors_are_counted_by_ranges() {
        for (ranges, want) in [("0", Some(1)), ("0-3", Some(4)), ("0-3,8-11", Some(8)), ("0,2,4-5", Some(4))] {
            assert_eq!(count(ranges), want, "{ranges}");
        }
        for ranges in ["", "x", "3-1", "0-", "0-18446744073709551615", "0-99999999999"] {
            assert_eq!(count(ranges), None, "{ranges}");
        }
    }

    #[test]
    fn models_of_several_architectures() {
        for (cpuinfo, want) in [
            ("processor\t: 0\nmodel name\t: AMD EPYC 7763\n", Ok("AMD EPYC 7763")),
            ("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", Ok("ARM implementer 0x41 part 0xd0c")),
            ("processor\t: 0\ncpu\t\t: POWER9\n", Ok("POWER9")),
            ("processor\t: 0\nhart\t: 0\nuarch\t: sifive,u74-mc\n", Ok("sifive,u74-mc")),
            ("processor\t: 0\n", Err("/proc/cpuinfo: names no model")),
        ] {
            let tree = Tree::new();
            tree.file(CPUINFO, cpuinfo);
            let found = model(&Source::new(tree.root()));
            assert_eq!(found.as_deref().map_err(ToString::to_string), want.map_err(str::to_owned), "{cpuinfo}");
        }
    }

    #[test]
    fn the_model_is_found_although_the_file_is_long() {
        let tree = Tree::new();
        let block = format!("processor\t: 0\nmodel name\t: Long\nflags\t: {}\n\n", "flag ".repeat(300));
        tree.file(CPUINFO, &block.repeat(300));
        assert_eq!(model(&Source::new(tree.root())).unwrap(), "Long");
    }
}
