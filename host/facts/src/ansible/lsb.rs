//! The description from the Linux Standard Base.

use serde_json::{Map, Value};

use super::os_release::{Assignments, assignments, os_release};
use crate::gathering::Collector;
use crate::source::Source;

/// Fields of `/etc/lsb-release`, and Ansible's names for them.
const FIELDS: [(&str, &str); 4] = [
    ("DISTRIB_ID", "id"),
    ("DISTRIB_RELEASE", "release"),
    ("DISTRIB_DESCRIPTION", "description"),
    ("DISTRIB_CODENAME", "codename"),
];

/// The program that Ansible calls if it exists. On distributions without `/etc/lsb-release` it
/// derives its answers from `os-release(5)`.
const PROGRAM: &str = "/usr/bin/lsb_release";

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let mut lsb = lsb(gathering.source);
    if let Some(release) = lsb.get("release").and_then(Value::as_str) {
        let major = release.split('.').next().unwrap_or_default().to_owned();
        lsb.insert("major_release".to_owned(), major.into());
    }
    gathering.set("lsb", lsb);
}

fn lsb(source: &Source) -> Map<String, Value> {
    if let Ok(found) = assignments(source, "/etc/lsb-release") {
        return FIELDS
            .iter()
            .filter_map(|(field, name)| Some(((*name).to_owned(), found.get(*field)?.as_str().into())))
            .collect();
    }
    match os_release(source) {
        Ok((_, release)) if source.exists(PROGRAM) => from_os_release(&release),
        _ => Map::new(),
    }
}

fn from_os_release(release: &Assignments) -> Map<String, Value> {
    let id = release.get("ID").map(|id| {
        let mut letters = id.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    });
    let fields = [
        ("id", id),
        ("release", release.get("VERSION_ID").cloned()),
        ("description", release.get("PRETTY_NAME").cloned()),
        ("codename", release.get("VERSION_CODENAME").cloned()),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn a_file_of_its_own_wins_and_a_program_stands_for_os_release() {
        let tree = Tree::new();
        tree.file("/etc/os-release", "ID=debian\nVERSION_ID=12\nPRETTY_NAME='Debian 12'\nVERSION_CODENAME=bookworm\n");
        assert_eq!(lsb(&Source::new(tree.root())), Map::new());
        tree.file(PROGRAM, "");
        let want = json!({"id": "Debian", "release": "12", "description": "Debian 12", "codename": "bookworm"});
        assert_eq!(Value::from(lsb(&Source::new(tree.root()))), want);
        tree.file("/etc/lsb-release", "DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=22.04\n");
        assert_eq!(Value::from(lsb(&Source::new(tree.root()))), json!({"id": "Ubuntu", "release": "22.04"}));
    }
}
