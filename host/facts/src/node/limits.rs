//! Resource limits of the first process, which every service inherits unless it sets its own.

use serde_json::{Map, Value, json};

use crate::gathering::Collector;
use crate::source::SMALL;

const FILE: &str = "/proc/1/limits";

/// Lines of the file, and their names in the facts.
const LIMITS: [(&str, &str); 6] = [
    ("Max open files", "open_files"),
    ("Max processes", "processes"),
    ("Max locked memory", "locked_memory"),
    ("Max core file size", "core_size"),
    ("Max pending signals", "pending_signals"),
    ("Max stack size", "stack_size"),
];

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    if let Some(text) = gathering.keep("plumbline_facts.limits", source.text(FILE, SMALL)) {
        gathering.own("limits", limits(&text));
    }
}

/// Parses the limits. Each line has name, soft limit, hard limit and unit. A limit is a number or
/// `unlimited`.
fn limits(text: &str) -> Map<String, Value> {
    let limit = |text: Option<&str>| text.map(|text| text.parse::<u64>().map_or_else(|_| text.into(), Value::from));
    let line = |(title, name): &(&str, &str)| {
        let mut fields = text.lines().find_map(|line| line.strip_prefix(title))?.split_ascii_whitespace();
        let (soft, hard) = (limit(fields.next())?, limit(fields.next())?);
        Some(((*name).to_owned(), json!({"soft": soft, "hard": hard})))
    };
    LIMITS.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_or_unlimited() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 524288               files     \nMax processes             unlimited            63422                processes \n";
        assert_eq!(
            Value::from(limits(text)),
            json!({"open_files": {"soft": 1024, "hard": 524_288}, "processes": {"soft": "unlimited", "hard": 63422}})
        );
    }
}
