//! Memory, swap, uptime and load.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::gathering::Collector;
use crate::source::{SMALL, Unreadable, brief};

pub(crate) const MEMINFO: &str = "/proc/meminfo";
const UPTIME: &str = "/proc/uptime";
const LOADAVG: &str = "/proc/loadavg";

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    if let Some(text) = gathering.keep("memtotal_mb", source.text(MEMINFO, SMALL)) {
        let mut part = |fact: &str, key: &str| gathering.keep(fact, mebibytes(&text, key));
        let total = part("memtotal_mb", "MemTotal");
        let free = part("memfree_mb", "MemFree");
        let swap_total = part("swaptotal_mb", "SwapTotal");
        let swap_free = part("swapfree_mb", "SwapFree");
        for (name, value) in
            [("memtotal_mb", total), ("memfree_mb", free), ("swaptotal_mb", swap_total), ("swapfree_mb", swap_free)]
        {
            if let Some(value) = value {
                gathering.set(name, value);
            }
        }
        gathering.set("memory_mb", overview(&text));
    }
    let uptime = source.value(UPTIME).and_then(|text| seconds(&text));
    gathering.keep_as("uptime_seconds", uptime);
    let load = source.value(LOADAVG).and_then(|text| load(&text));
    gathering.keep_as("loadavg", load);
}

/// Returns the same numbers and the values derived from them. A missing number is `null`, and so is
/// every value derived from it.
fn overview(text: &str) -> Value {
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
fn seconds(text: &str) -> Result<u64, Unreadable> {
    text.split(['.', ' '])
        .next()
        .and_then(|whole| whole.parse().ok())
        .ok_or_else(|| Unreadable::malformed(UPTIME, format!("expected seconds, found `{}`", brief(text))))
}

/// Parses the first three numbers of `/proc/loadavg`: the load over one, five and fifteen minutes.
fn load(text: &str) -> Result<Value, Unreadable> {
    let numbers: Vec<f64> = text.split_ascii_whitespace().take(3).filter_map(|number| number.parse().ok()).collect();
    let named: BTreeMap<_, _> = ["1m", "5m", "15m"].into_iter().zip(numbers).collect();
    if named.len() < 3 {
        return Err(Unreadable::malformed(LOADAVG, format!("expected three numbers, found `{}`", brief(text))));
    }
    Ok(json!(named))
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

    #[test]
    fn the_overview_has_null_for_what_is_not_there() {
        let text = "MemTotal: 4096 kB\nMemFree: 1024 kB\nCached: 1024 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n";
        assert_eq!(
            overview(text),
            json!({
                "real": {"total": 4, "used": 3, "free": 1},
                "nocache": {"free": null, "used": null},
                "swap": {"total": 0, "free": 0, "used": 0, "cached": null},
            })
        );
    }

    #[test]
    fn the_load_has_three_numbers() {
        assert_eq!(load("0.50 1.25 2.00 1/100 7").unwrap(), json!({"1m": 0.5, "5m": 1.25, "15m": 2.0}));
        assert!(load("0.50 x").is_err());
    }
}
