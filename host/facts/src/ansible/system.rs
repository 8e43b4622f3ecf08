//! The system: its names, its user, its clock, its resolver and its service manager.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Map, Value, json};

use crate::collector::Collector;
use crate::source::{SMALL, Source, TABLE, Unreadable};

const ZONE: &str = "/etc/localtime";
const PASSWD: &str = "/etc/passwd";

/// Size limit for a time zone file, in bytes. The largest ones have 4 KiB.
const MAX_ZONE: u64 = 256 << 10;

/// Names of first processes that Ansible reports under another name.
const FIRST_PROCESSES: [(&str, &str); 4] =
    [("procd", "openwrt_init"), ("runit-init", "runit"), ("svscan", "svc"), ("openrc-init", "openrc")];

/// Gathers the host name and domain of the machine.
pub(super) fn names(collector: &mut Collector<'_>) {
    let source = collector.source;
    let nodename = source.value("/proc/sys/kernel/hostname").or_else(|kernel| {
        // A file tree without a running kernel, such as an image, may still have a configured name.
        source.value("/etc/hostname").map_err(|_| kernel)
    });
    let Some(nodename) = collector.keep("nodename", nodename) else { return };
    collector.set("hostname", nodename.split('.').next().unwrap_or_default());
    // Without the file, the kernel's name is used.
    let fqdn = full_name(&nodename, &source.text("/etc/hosts", SMALL).unwrap_or_default());
    collector.set("domain", fqdn.split_once('.').map_or("", |(_, domain)| domain));
    collector.set("fqdn", fqdn);
    collector.set("nodename", nodename);
}

/// Returns the fully qualified name, as the resolver derives it from `hosts(5)` alone.
///
/// It looks up the address of the name, then takes the first line with that address. From that line
/// it takes the first name with a dot, or else the first name. No name server is asked: a fact must
/// not depend on which servers answer today.
fn full_name(nodename: &str, hosts: &str) -> String {
    let lines: Vec<Vec<&str>> = hosts
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().split_ascii_whitespace().collect())
        .filter(|fields: &Vec<&str>| fields.len() > 1)
        .collect();
    let address = lines.iter().find(|fields| fields.iter().skip(1).any(|name| *name == nodename));
    let line = address.and_then(|found| lines.iter().find(|fields| fields.first() == found.first()));
    let Some(line) = line else { return nodename.to_owned() };
    let mut names = line.iter().skip(1);
    let dotted = names.clone().find(|name| name.contains('.'));
    (*dotted.or_else(|| names.next()).unwrap_or(&nodename)).to_owned()
}

/// Gathers the user that gathers the facts.
pub(super) fn user(collector: &mut Collector<'_>) {
    let (real, effective) = (rustix::process::getuid().as_raw(), rustix::process::geteuid().as_raw());
    let group = rustix::process::getgid().as_raw();
    collector.set("real_user_id", real);
    collector.set("effective_user_id", effective);
    collector.set("real_group_id", group);
    collector.set("effective_group_id", group);
    let Some(table) = collector.keep("user_id", collector.source.text(PASSWD, TABLE)) else { return };
    match passwd_entry(&table, real) {
        Some(facts) => collector.set_all(facts),
        None => collector.miss("user_id", format!("{PASSWD} has no user with the ID {real}")),
    }
}

/// Parses the line of `passwd(5)` for a user ID: name, password, user ID, group ID, comment, home,
/// shell.
fn passwd_entry(table: &str, user: u32) -> Option<Map<String, Value>> {
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, number, group, gecos, home, shell, ..] = *fields.as_slice() else { return None };
        if number.parse() != Ok(user) {
            return None;
        }
        let facts = json!({
            "user_id": name,
            "user_uid": user,
            "user_gid": group.parse::<u32>().ok()?,
            "user_gecos": gecos,
            "user_dir": home,
            "user_shell": shell,
        });
        facts.as_object().cloned()
    })
}

/// Gathers the current time, in the machine's time zone.
pub(super) fn clock(collector: &mut Collector<'_>) {
    let zone = match zone(collector.source) {
        // According to `localtime(5)`, a machine without the file is in UTC.
        Err(reason) if reason.is_missing() => TimeZone::UTC,
        found => collector.keep("date_time", found).unwrap_or(TimeZone::UTC),
    };
    collector.set("date_time", date_time(Timestamp::now(), zone));
}

fn zone(source: &Source) -> Result<TimeZone, Unreadable> {
    let bytes = source.bytes(ZONE, MAX_ZONE)?;
    TimeZone::tzif("localtime", &bytes).map_err(|error| Unreadable::malformed(ZONE, error.to_string()))
}

fn date_time(now: Timestamp, zone: TimeZone) -> Value {
    let daylight = daylight_name(now, &zone);
    let local = now.to_zoned(zone);
    let utc = now.to_zoned(TimeZone::UTC);
    let text = |zoned: &Zoned, format: &str| zoned.strftime(format).to_string();
    let epoch = now.as_second().to_string();
    json!({
        "year": text(&local, "%Y"),
        "month": text(&local, "%m"),
        "day": text(&local, "%d"),
        "weekday": text(&local, "%A"),
        "weekday_number": text(&local, "%w"),
        "weeknumber": text(&local, "%W"),
        "hour": text(&local, "%H"),
        "minute": text(&local, "%M"),
        "second": text(&local, "%S"),
        "epoch": epoch,
        "epoch_int": epoch,
        "date": text(&local, "%Y-%m-%d"),
        "time": text(&local, "%H:%M:%S"),
        "iso8601_micro": text(&utc, "%Y-%m-%dT%H:%M:%S.%6fZ"),
        "iso8601": text(&utc, "%Y-%m-%dT%H:%M:%SZ"),
        "iso8601_basic": text(&local, "%Y%m%dT%H%M%S%6f"),
        "iso8601_basic_short": text(&local, "%Y%m%dT%H%M%S"),
        "tz": text(&local, "%Z"),
        "tz_dst": daylight.unwrap_or_else(|| text(&local, "%Z")),
        "tz_offset": text(&local, "%z"),
    })
}

/// Returns the name of daylight saving time in this zone, if it is or will be in effect within the
/// next four changes.
fn daylight_name(now: Timestamp, zone: &TimeZone) -> Option<String> {
    let current = zone.to_offset_info(now);
    if current.dst().is_dst() {
        return Some(current.abbreviation().to_owned());
    }
    // A year has at most a few changes. The limit protects against a file with random content.
    let change = zone.following(now).take(4).find(|change| change.dst().is_dst())?;
    Some(change.abbreviation().to_owned())
}

/// Gathers the resolver's configuration.
pub(super) fn resolver(collector: &mut Collector<'_>) {
    collector.keep_as("dns", collector.source.text("/etc/resolv.conf", SMALL).map(|text| dns(&text)));
}

/// Parses `resolv.conf(5)`. Name servers accumulate over all lines. For other keywords the last
/// line wins, as in the resolver.
fn dns(text: &str) -> Map<String, Value> {
    let mut dns = Map::new();
    let mut servers: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with(['#', ';'])) {
        let mut words = line.split_ascii_whitespace();
        let (key, value) = match words.next() {
            Some("nameserver") => {
                servers.extend(words);
                continue;
            }
            Some("domain") => ("domain", words.next().map(Value::from)),
            Some(list @ ("search" | "sortlist")) => (list, Some(words.collect())),
            Some("options") => ("options", Some(words.map(option).collect::<Map<_, _>>().into())),
            _ => continue,
        };
        dns.extend(value.map(|value| (key.to_owned(), value)));
    }
    if !servers.is_empty() {
        dns.insert("nameservers".to_owned(), json!(servers));
    }
    dns
}

fn option(word: &str) -> (String, Value) {
    let (name, value) = word.split_once(':').unwrap_or((word, ""));
    (name.to_owned(), if value.is_empty() { true.into() } else { value.into() })
}

/// Returns the service manager, by the name of the first process.
///
/// Two names say nothing: `init` has many implementations, and a shell means that this is a
/// container.
pub(super) fn service_manager(source: &Source) -> String {
    let first = source.value("/proc/1/comm").ok().or_else(|| source.link_name("/sbin/init"));
    let first = first.map(|name| name.rsplit('/').next().unwrap_or_default().to_owned());
    if let Some(name) = first.filter(|name| !name.is_empty() && name != "init" && !name.ends_with("sh")) {
        return FIRST_PROCESSES.iter().find(|(known, _)| *known == name).map_or(name, |(_, other)| (*other).to_owned());
    }
    let init_is_systemd = || source.link_name("/sbin/init").as_deref() == Some("systemd");
    let manager = if source.exists("/run/systemd/system") || init_is_systemd() {
        "systemd"
    } else if source.exists("/sbin/openrc") {
        "openrc"
    } else if source.exists("/etc/init.d") {
        "sysvinit"
    } else if source.exists("/etc/dinit.d") {
        "dinit"
    } else {
        "service"
    };
    manager.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn the_full_name_is_that_of_the_hosts_file() {
        for (hosts, want) in [
            ("", "node-1"),
            ("127.0.0.1 localhost\n127.0.0.1 node-1\n", "localhost"),
            ("127.0.0.1 localhost\n10.0.0.7 node-1.example.com node-1\n", "node-1.example.com"),
            ("10.0.0.7 node-1 node-1.example.com # node-1.other\n", "node-1.example.com"),
            ("# 10.0.0.7 x.example.com node-1\n", "node-1"),
        ] {
            assert_eq!(full_name("node-1", hosts), want, "{hosts}");
        }
    }

    #[test]
    fn a_user_is_found_by_number() {
        let table = "root:x:0:0:root:/root:/bin/bash\nbroken\nme:x:1000:100:Me,,,:/home/me:/bin/zsh\n";
        assert_eq!(
            Value::from(passwd_entry(table, 1000).unwrap()),
            json!({
                "user_id": "me", "user_uid": 1000, "user_gid": 100, "user_gecos": "Me,,,", "user_dir": "/home/me",
                "user_shell": "/bin/zsh",
            })
        );
        assert!(passwd_entry(table, 7).is_none());
    }

    #[test]
    fn a_moment_in_a_zone_with_daylight_saving() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let facts = date_time("2024-01-15T23:30:05.25Z".parse().unwrap(), zone);
        for (key, want) in [
            ("date", "2024-01-16"),
            ("time", "00:30:05"),
            ("weekday", "Tuesday"),
            ("weekday_number", "2"),
            ("weeknumber", "03"),
            ("epoch", "1705361405"),
            ("iso8601_micro", "2024-01-15T23:30:05.250000Z"),
            ("iso8601_basic", "20240116T003005250000"),
            ("tz", "CET"),
            ("tz_dst", "CEST"),
            ("tz_offset", "+0100"),
        ] {
            assert_eq!(facts[key], want, "{key}");
        }
    }

    #[test]
    fn the_first_process_tells_unless_it_is_anything() {
        let tree = Tree::new();
        let manager = |tree: &Tree| service_manager(&Source::new(tree.root()));
        assert_eq!(manager(&tree), "service");
        tree.file("/proc/1/comm", "init\n");
        tree.file("/sbin/openrc", "");
        assert_eq!(manager(&tree), "openrc");
        tree.file("/proc/1/comm", "bash\n");
        tree.directory("/run/systemd/system");
        assert_eq!(manager(&tree), "systemd");
        tree.file("/proc/1/comm", "runit-init\n");
        assert_eq!(manager(&tree), "runit");
    }
}
