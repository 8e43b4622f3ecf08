//! `resolv.conf(5)`.

use crate::facts::data::Dns;

/// The name servers, search domains and options. As the resolver does, the last `search` or `domain` line wins.
pub(super) fn dns(text: &str) -> Dns {
    let mut dns = Dns::default();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("nameserver") => dns.nameservers.extend(words.next().map(str::to_owned)),
            Some("search" | "domain") => dns.search = words.map(str::to_owned).collect(),
            Some("options") => dns.options.extend(words.map(str::to_owned)),
            _ => {}
        }
    }
    dns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_search_line_wins_and_comments_are_none() {
        let dns = dns(
            "# nameserver 1.1.1.1\nnameserver 10.96.0.10\nnameserver fd00::a\ndomain a\nsearch b.svc c\noptions ndots:5 edns0\n; x\n",
        );
        assert_eq!(dns.nameservers, ["10.96.0.10", "fd00::a"]);
        assert_eq!(dns.search, ["b.svc", "c"]);
        assert_eq!(dns.options, ["ndots:5", "edns0"]);
    }
}
