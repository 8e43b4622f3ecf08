//! The user that gathers the facts.

use crate::gathering::Collector;
use crate::source::TABLE;

const PASSWD: &str = "/etc/passwd";

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let (real, effective) = (rustix::process::getuid().as_raw(), rustix::process::geteuid().as_raw());
    let group = rustix::process::getgid().as_raw();
    gathering.set("real_user_id", real);
    gathering.set("effective_user_id", effective);
    gathering.set("real_group_id", group);
    gathering.set("effective_group_id", group);
    let Some(table) = gathering.keep("user_id", source.text(PASSWD, TABLE)) else { return };
    match entry(&table, real) {
        Some(entry) => {
            gathering.set("user_id", entry.name);
            gathering.set("user_uid", real);
            gathering.set("user_gid", entry.group);
            gathering.set("user_gecos", entry.gecos);
            gathering.set("user_dir", entry.home);
            gathering.set("user_shell", entry.shell);
        }
        None => gathering.miss("user_id", format!("{PASSWD} has no user with the number {real}")),
    }
}

struct Entry<'a> {
    name: &'a str,
    group: u32,
    gecos: &'a str,
    home: &'a str,
    shell: &'a str,
}

/// Parses the line of `passwd(5)` for a user ID: name, password, user ID, group ID, comment, home,
/// shell.
fn entry(table: &str, user: u32) -> Option<Entry<'_>> {
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, number, group) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let (gecos, home, shell) = (fields.next()?, fields.next()?, fields.next()?);
        let matches = number.parse::<u32>().ok()? == user;
        matches.then_some(Entry { name, group: group.parse().ok()?, gecos, home, shell })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let table = "root:x:0:0:root:/root:/bin/bash\nbroken\nme:x:1000:100:Me,,,:/home/me:/bin/zsh\n";
        let me = entry(table, 1000).unwrap();
        assert_eq!((me.name, me.group, me.gecos, me.home, me.shell), ("me", 100, "Me,,,", "/home/me", "/bin/zsh"));
        assert!(entry(table, 7).is_none());
    }
}
