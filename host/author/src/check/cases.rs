//! Checks the golden cases, without running them.

use std::path::{Path, PathBuf};

use plumbline_core::definition::Definition;

use super::finding::Checked;
use crate::golden::{CHECK_INPUT, input_problem};
use crate::project::file_name;

/// Maximum number of cases to check.
const MAX_CASES: usize = 1_000;
/// The input of the other roles.
const OTHER_INPUT: [&str; 4] = ["results", "errors", "nodes.yaml", "tree.yaml"];

/// Checks the layout of the golden cases below `tests`, and the input of checks. A directory without
/// any file of a case is skipped: it holds tests in the module's own language. `definition` is that
/// of the project, if it is valid.
pub(super) fn check_cases(tests: &Path, definition: Option<&Definition>, checked: &mut Checked) {
    let Ok(entries) = tests.read_dir() else { return };
    let mut cases: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).take(MAX_CASES).collect();
    cases.sort();
    for case in cases {
        let has = |part: &str| case.join(part).exists();
        let place = format!("tests/{}", file_name(&case));
        let input = CHECK_INPUT.iter().find(|part| has(part));
        if input.is_none() && !OTHER_INPUT.iter().any(|part| has(part)) {
            if has("expected.yaml") {
                checked.error(
                    place,
                    "the case has nothing to read: neither `results/` nor `errors/` nor `nodes.yaml` nor `tree.yaml`, nor the input of a check",
                    Some(
                        "results are laid out as in an archive: `results/global/FILE`, or `results/NODE/FILE` per node",
                    ),
                );
            }
            continue;
        }
        if !has("expected.yaml") {
            checked.warning(
                &place,
                "the case has no expected result: `expected.yaml` is missing",
                Some("write the current result with `plumbline plugin test --bless`"),
            );
        }
        // Files directly in `results/` do not belong to any result set.
        let results = case.join("results").read_dir().into_iter().flatten().flatten();
        if let Some(file) = results.map(|entry| entry.path()).find(|path| path.is_file()) {
            checked.error(
                &place,
                format!("`results/{}` is not read: it is not in a result set", file_name(&file)),
                Some("put it into `results/global/`, or into `results/NODE/` per node"),
            );
        }
        if let Some(input) = input {
            check_input(&case, &place, input, definition, checked);
        }
    }
}

/// Checks the case of a check, which has `input`.
fn check_input(case: &Path, place: &str, input: &str, definition: Option<&Definition>, checked: &mut Checked) {
    if let Some(other) = OTHER_INPUT.iter().find(|part| case.join(part).exists()) {
        let what = format!("the case has `{other}` and the input of a check, `{input}`");
        checked.error(place, what, Some("make two cases of them"));
    }
    if let Some(problem) = input_problem(case) {
        checked.error(place, problem, Some("docs/testing-modules.md describes the input of a check"));
    }
    let is_check = definition.is_none_or(|definition| definition.plumbline.component.is_some());
    if !is_check && !case.join("definition.yaml").exists() {
        let what = format!("`{input}` is the input of a check, but the definition has no `plumbline.component`");
        checked.error(place, what, Some("name the component of the check, or remove the case"));
    }
}
