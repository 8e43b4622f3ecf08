//! A name that nobody knows: what there is, and what may have been meant.

use plumbline_bundle::built_in::Place;
use plumbline_core::closest;

use super::built_in::built_in_names;
use super::installed;
use crate::error::CliError;

/// Names of one kind that an error lists.
const MAX_LISTED: usize = 20;

/// The error for a reference that names nothing.
pub(super) fn unknown(reference: &str, place: Place) -> CliError {
    let here = installed::store()
        .and_then(|store| store.list().map_err(|error| super::store_error("failed to list installed bundles", &error)));
    // What cannot be listed is not offered: the error at hand is another.
    let here: Vec<String> = here.unwrap_or_default().into_iter().map(|entry| entry.name).collect();
    let theirs: Vec<String> = installed::sonobuoy().unwrap_or_default().into_iter().map(|(name, _)| name).collect();
    let built_in = plumbline_bundle::built_in::definitions().iter().filter(|built_in| built_in.yaml(place).is_some());
    let all: Vec<&str> =
        built_in.map(|built_in| built_in.name).chain(here.iter().chain(&theirs).map(String::as_str)).collect();

    let mut hint = String::new();
    if let Some(closest) = closest(reference, all.iter().copied()) {
        hint.push_str(&format!("did you mean `{closest}`?\n"));
    }
    hint.push_str(&format!("built-in plugins: {}", built_in_names(place)));
    for (kind, names) in [("installed", &here), ("installed by Sonobuoy", &theirs)] {
        if !names.is_empty() {
            hint.push_str(&format!("; {kind}: {}", listed(names)));
        }
    }
    hint.push_str("; a path may be a definition, a packed bundle, or a directory with `plugin.yaml`");
    CliError::usage(format!(
        "plugin `{reference}` is neither a built-in plugin nor a file or directory, and not installed"
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
