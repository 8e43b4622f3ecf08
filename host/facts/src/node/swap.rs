//! The size and use of swap space.

use serde_json::{Value, json};

use crate::ansible::{MEMINFO, mebibytes};
use crate::gathering::Collector;
use crate::source::SMALL;

const SWAPS: &str = "/proc/swaps";

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let meminfo = source.text(MEMINFO, SMALL);
    let Some(meminfo) = gathering.keep("plumbline_facts.swap", meminfo) else { return };
    let total = gathering.keep("plumbline_facts.swap.total_mb", mebibytes(&meminfo, "SwapTotal"));
    let free = gathering.keep("plumbline_facts.swap.free_mb", mebibytes(&meminfo, "SwapFree"));
    // A kernel without swap does not have this file.
    let table = gathering.keep_if_there("plumbline_facts.swap.devices", source.text(SWAPS, SMALL));
    let devices: Vec<Value> = table.unwrap_or_default().lines().skip(1).filter_map(device).collect();
    gathering.own("swap", json!({"total_mb": total, "free_mb": free, "devices": devices}));
}

/// Parses a line: file, type, size in KiB, use in KiB, priority.
fn device(line: &str) -> Option<Value> {
    let mut fields = line.split_ascii_whitespace();
    let (path, kind) = (fields.next()?, fields.next()?);
    let (size, used): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let priority: i64 = fields.next()?.parse().ok()?;
    Some(json!({"device": path, "type": kind, "size_mb": size >> 10, "used_mb": used >> 10, "priority": priority}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_device() {
        assert_eq!(
            device("/dev/dm-1\tpartition\t8388604\t1024\t-2"),
            Some(json!({"device": "/dev/dm-1", "type": "partition", "size_mb": 8191, "used_mb": 1, "priority": -2}))
        );
        assert_eq!(device("/swap file"), None);
    }
}
