//! Memory, swap, and how long the machine has been up.

use super::gather::Gathering;
use super::source::{SMALL, Unreadable, brief};

const MEMINFO: &str = "/proc/meminfo";
const UPTIME: &str = "/proc/uptime";

pub(super) fn gather(gathering: &mut Gathering<'_>) {
    let source = gathering.source;
    if let Some(text) = gathering.keep("memtotal_mb", source.text(MEMINFO, SMALL)) {
        let mut part = |fact: &str, key: &str| gathering.keep(fact, mebibytes(&text, key));
        let total = part("memtotal_mb", "MemTotal");
        let free = part("memfree_mb", "MemFree");
        let available = part("memavailable_mb", "MemAvailable");
        let swap_total = part("swaptotal_mb", "SwapTotal");
        let swap_free = part("swapfree_mb", "SwapFree");
        let host = &mut gathering.facts.host;
        host.memtotal_mb = total;
        host.memfree_mb = free;
        host.memavailable_mb = available;
        host.swaptotal_mb = swap_total;
        host.swapfree_mb = swap_free;
    }
    let uptime = source.value(UPTIME).and_then(|text| seconds(&text));
    gathering.facts.host.uptime_seconds = gathering.keep("uptime_seconds", uptime);
}

/// The value of `key` in `/proc/meminfo`, which counts in KiB, in whole MiB.
fn mebibytes(text: &str, key: &str) -> Result<u64, Unreadable> {
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

/// The first number of `/proc/uptime`, without its fraction.
fn seconds(text: &str) -> Result<u64, Unreadable> {
    text.split(['.', ' '])
        .next()
        .and_then(|whole| whole.parse().ok())
        .ok_or_else(|| Unreadable::malformed(UPTIME, format!("expected seconds, found `{}`", brief(text))))
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
    fn uptime_is_whole_seconds() {
        assert_eq!(seconds("350735.47 234388.90").unwrap(), 350_735);
        assert!(seconds("soon").unwrap_err().to_string().contains("found `soon`"));
    }
}
