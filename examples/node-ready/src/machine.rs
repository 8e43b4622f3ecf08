//! Rules about the hardware and the identity of the machine.

use plumbline_sdk::Context;
use plumbline_sdk::context::FileError;

use crate::rule::{Outcome, first_line};

const MIN_PROCESSORS: u64 = 2;
const MIN_MEMORY_MIB: u64 = 1700;
/// UUIDs of manufacturers that assign none.
const PLACEHOLDERS: [&str; 3] = [
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "03000200-0400-0500-0006-000700080009",
];

pub(crate) fn processors(context: &mut Context) -> Result<Outcome, FileError> {
    const FILE: &str = "/sys/devices/system/cpu/online";
    Ok(match count(&first_line(context, FILE)?) {
        Some(found) => Outcome::passed_if(found >= MIN_PROCESSORS, || format!("found {found}")),
        None => Outcome::unparsed(FILE),
    })
}

/// Returns the number of entries of a list such as `0-3,6`.
fn count(list: &str) -> Option<u64> {
    let entries = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.split(',').map(entries).sum()
}

pub(crate) fn memory(context: &mut Context) -> Result<Outcome, FileError> {
    const FILE: &str = "/proc/meminfo";
    let text = context.read_to_string(FILE)?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next());
    Ok(match total.and_then(|kib| kib.parse::<u64>().ok()) {
        Some(kib) => Outcome::passed_if(kib >= MIN_MEMORY_MIB << 10, || format!("found {} MiB", kib >> 10)),
        None => Outcome::unparsed(FILE),
    })
}

pub(crate) fn machine_id(context: &mut Context) -> Result<Outcome, FileError> {
    let id = first_line(context, "/etc/machine-id")?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    Ok(Outcome::passed_if(id.len() == 32 && id.bytes().all(is_digit), || {
        format!("want 32 lower-case hexadecimal digits, got {} characters", id.chars().count())
    }))
}

pub(crate) fn product_uuid(context: &mut Context) -> Result<Outcome, FileError> {
    const FILE: &str = "/sys/class/dmi/id/product_uuid";
    let uuid = first_line(context, FILE)?.to_ascii_lowercase();
    if uuid.is_empty() {
        return Ok(Outcome::unparsed(FILE));
    }
    Ok(Outcome::passed_if(!PLACEHOLDERS.contains(&uuid.as_str()), || {
        format!("{uuid} is a placeholder, which many machines have")
    }))
}
