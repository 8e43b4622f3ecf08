//! The resolver configuration, from `resolv.conf(5)`.

use serde_json::{Map, Value, json};

use crate::gathering::Collector;
use crate::source::SMALL;

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let resolver = source.text("/etc/resolv.conf", SMALL);
    if let Some(text) = gathering.keep("dns", resolver) {
        gathering.set("dns", dns(&text));
    }
}

/// Parses the file. Name servers accumulate over all lines. For other keywords the last line wins,
/// as in the resolver.
fn dns(text: &str) -> Map<String, Value> {
    let mut dns = Map::new();
    let mut servers: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(['#', ';'])) {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("nameserver") => servers.extend(words),
            Some("domain") => {
                if let Some(domain) = words.next() {
                    dns.insert("domain".to_owned(), domain.into());
                }
            }
            Some(list @ ("search" | "sortlist")) => {
                dns.insert(list.to_owned(), words.collect());
            }
            Some("options") => {
                dns.insert("options".to_owned(), words.map(option).collect());
            }
            _ => {}
        }
    }
    if !servers.is_empty() {
        dns.insert("nameservers".to_owned(), json!(servers));
    }
    dns
}

fn option(word: &str) -> (String, Value) {
    match word.split_once(':') {
        Some((name, value)) if !value.is_empty() => (name.to_owned(), value.into()),
        Some((name, _)) => (name.to_owned(), true.into()),
        None => (word.to_owned(), true.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_resolver_reads_them() {
        let told = dns(
            "# nameserver 1.1.1.1\nnameserver 10.96.0.10\nnameserver fd00::a\nsearch a\nsearch b.svc c\noptions ndots:5 edns0\n; x\n",
        );
        assert_eq!(
            Value::from(told),
            json!({
                "nameservers": ["10.96.0.10", "fd00::a"],
                "search": ["b.svc", "c"],
                "options": {"ndots": "5", "edns0": true},
            })
        );
    }
}
