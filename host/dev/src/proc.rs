//! Memory and processor time of a process, from /proc.

use std::fs;

use crate::Result;

/// Returns a field of `/proc/PID/status` in KiB, such as `VmRSS` or `VmHWM`. `pid` may be `self`.
///
/// # Errors
/// The process or the field does not exist.
pub fn status_kib(pid: &str, key: &str) -> Result<u64> {
    kib(&format!("/proc/{pid}/status"), key)
}

/// Returns a field of `/proc/PID/smaps_rollup` in KiB, such as `Rss`, `Pss` or `Private_Dirty`. It
/// is the sum over all mappings of the process. `pid` may be `self`.
///
/// # Errors
/// The process or the field does not exist.
pub fn rollup_kib(pid: &str, key: &str) -> Result<u64> {
    kib(&format!("/proc/{pid}/smaps_rollup"), key)
}

fn kib(path: &str, key: &str) -> Result<u64> {
    let text = fs::read_to_string(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.ok_or_else(|| format!("{path} has no `{key}`").into())
}

/// Returns the processor time of a process in seconds, user and system (fields 14 and 15 of
/// /proc/PID/stat). `pid` may be `self`.
///
/// # Errors
/// The process does not exist.
pub fn cpu_seconds(pid: &str) -> Result<f64> {
    ticks(pid, 2)
}

/// Returns the processor time of a process and of its children that have ended, in seconds (fields
/// 14 to 17 of /proc/PID/stat). `pid` may be `self`.
///
/// # Errors
/// The process does not exist.
pub fn cpu_seconds_with_children(pid: &str) -> Result<f64> {
    ticks(pid, 4)
}

/// Returns the sum of `count` fields from field 14 on, which are in ticks of 10 ms, in seconds.
fn ticks(pid: &str, count: usize) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let ticks: u64 = fields.split_whitespace().skip(11).take(count).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(ticks as f64 / 100.0)
}
