//! A name that nobody knows: what there is, and what may have been meant.

use plumbline_stock::Place;

use super::installed;
use super::stock::stock_names;
use crate::error::CliError;

/// Names of one kind that an error lists.
const MAX_LISTED: usize = 20;

/// The longest name for which a similar one is looked for.
const MAX_SIMILAR: usize = 60;

/// The error for a reference that names nothing.
pub(super) fn unknown(reference: &str, place: Place) -> CliError {
    let here = installed::store().and_then(|store| {
        store.list().map_err(|error| super::store_error("installed bundles cannot be listed", &error))
    });
    // What cannot be listed is not offered: the error at hand is another.
    let here: Vec<String> = here.unwrap_or_default().into_iter().map(|entry| entry.name).collect();
    let theirs: Vec<String> = installed::incumbent().unwrap_or_default().into_iter().map(|(name, _)| name).collect();
    let stock = plumbline_stock::definitions().iter().filter(|stock| stock.yaml(place).is_some());
    let all: Vec<&str> = stock.map(|stock| stock.name).chain(here.iter().chain(&theirs).map(String::as_str)).collect();

    let mut hint = String::new();
    if let Some(closest) = closest(reference, &all) {
        hint.push_str(&format!("did you mean `{closest}`?\n"));
    }
    hint.push_str(&format!("stock plugins: {}", stock_names(place)));
    for (kind, names) in [("installed", &here), ("installed by the incumbent", &theirs)] {
        if !names.is_empty() {
            hint.push_str(&format!("; {kind}: {}", listed(names)));
        }
    }
    hint.push_str("; a path may be a definition, a packed bundle, or a directory with `plugin.yaml`");
    CliError::usage(format!(
        "plugin `{reference}` is neither a stock plugin nor a file or directory, and not installed"
    ))
    .hint(hint)
}

fn listed(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(MAX_LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more (`plumbline plugin list`)", shown.join(", ")),
    }
}

/// The name that was most likely meant.
fn closest<'a>(typed: &str, names: &[&'a str]) -> Option<&'a str> {
    if typed.len() > MAX_SIMILAR {
        return None;
    }
    let near = names.iter().map(|name| (distance(typed, name), *name));
    near.filter(|&(distance, name)| distance <= (name.len() / 3).max(1)).min().map(|(_, name)| name)
}

/// How many characters have to be inserted, deleted or replaced to come from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, &above) in b.iter().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != *y)).min(above + 1).min(left + 1);
            diagonal = above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_the_one_that_was_meant() {
        let names = ["host-facts", "systemd-logs", "tap"];
        for (typed, meant) in [
            ("host-fact", Some("host-facts")),
            ("hostfacts", Some("host-facts")),
            ("systemd-log", Some("systemd-logs")),
            ("tapp", Some("tap")),
            ("nobody", None),
            ("", None),
        ] {
            assert_eq!(closest(typed, &names), meant, "{typed}");
        }
        assert_eq!(closest(&"x".repeat(100_000), &names), None);
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("abc", "")), (3, 3, 3));
    }
}
