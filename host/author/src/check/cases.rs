//! Checks the layout of golden cases.

use std::path::{Path, PathBuf};

use super::finding::Checked;

/// Maximum number of cases to check.
const MAX_CASES: usize = 1_000;

/// Checks the cases below `tests`. A directory without any file of a case is skipped: it holds
/// tests in the module's own language.
pub(super) fn check(tests: &Path, checked: &mut Checked) {
    let Ok(entries) = tests.read_dir() else { return };
    let mut cases: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).take(MAX_CASES).collect();
    cases.sort();
    for case in cases {
        let name = case.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let has = |part: &str| case.join(part).exists();
        let input = ["results", "errors", "nodes.yaml", "tree.yaml"].iter().any(|part| has(part));
        let place = format!("tests/{name}");
        match (input, has("expected.yaml")) {
            (false, false) => {}
            (false, true) => checked.error(
                place,
                "the case has nothing to read: neither `results/` nor `errors/` nor `nodes.yaml` nor `tree.yaml`",
                Some("results are laid out as in an archive: `results/global/FILE`, or `results/NODE/FILE` per node"),
            ),
            (true, expected) => {
                if !expected {
                    checked.warning(
                        &place,
                        "the case does not say what must come out: there is no `expected.yaml`",
                        Some("`plumbline plugin test --bless` writes what comes out now"),
                    );
                }
                loose(&case.join("results"), &place, checked);
            }
        }
    }
}

/// Reports files directly in `results/`, which do not belong to any result set.
fn loose(results: &Path, place: &str, checked: &mut Checked) {
    let Ok(entries) = results.read_dir() else { return };
    let file = entries.flatten().map(|entry| entry.path()).find(|path| path.is_file());
    if let Some(file) = file {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        checked.error(
            place,
            format!("`results/{name}` is read by nobody: it is in no result set"),
            Some("put it into `results/global/`, or into `results/NODE/` per node"),
        );
    }
}
