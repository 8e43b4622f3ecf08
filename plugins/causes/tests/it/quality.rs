//! How well causes agree with labels by hand, as precision and recall of pairs of failures.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use plumbline_module_causes::Cause;

use crate::labelled::Labelled;

#[test]
fn failures_of_one_cause_are_together_and_others_are_not() {
    let failures: Vec<(String, Cause)> =
        Labelled::all().into_iter().map(|failure| (failure.cause.clone(), Cause::of(&failure.item()))).collect();
    let (mut right, mut wrong, mut missed) = (0, 0, 0);
    for (at, (label, cause)) in failures.iter().enumerate() {
        for (other_label, other_cause) in &failures[at + 1..] {
            match (label == other_label, cause.id == other_cause.id) {
                (true, true) => right += 1,
                (false, true) => {
                    wrong += 1;
                    println!("`{label}` and `{other_label}` are together: {}", cause.template);
                }
                (true, false) => {
                    missed += 1;
                    println!("`{label}` is split: {} / {}", cause.template, other_cause.template);
                }
                (false, false) => {}
            }
        }
    }
    let (precision, recall) = (share(right, wrong), share(right, missed));
    println!("{} failures: precision {precision:.3}, recall {recall:.3}", failures.len());
    assert!(precision >= 0.95, "precision {precision:.3}");
    assert!(recall >= 0.8, "recall {recall:.3}");
}

fn share(right: u32, others: u32) -> f64 {
    f64::from(right) / f64::from(right + others)
}

/// Lists of known failures refer to ids, so a change of any of them is a change for users.
#[test]
fn ids_and_templates_stay_as_they_are() {
    let mut causes: BTreeMap<String, Vec<Cause>> = BTreeMap::new();
    for failure in Labelled::all() {
        let (cause, known) = (Cause::of(&failure.item()), causes.entry(failure.cause).or_default());
        if !known.contains(&cause) {
            known.push(cause);
        }
    }
    let mut text = String::new();
    for (label, causes) in causes {
        for Cause { id, template } in causes {
            writeln!(text, "{label}: {id} {template}").unwrap();
        }
    }
    insta::assert_snapshot!(text);
}
