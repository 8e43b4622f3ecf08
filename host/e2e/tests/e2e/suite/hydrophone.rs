//! Hydrophone and Plumbline run the same tests of the suite, and Plumbline reads both reports.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::{FAILS, ITS_SECRETS, Refused, SELECTION, bed_alone, conformance};
use crate::bed::Bed;
use crate::settings::loudly;

/// The test of the quick mode.
const QUICK: &str = "Pods should be submitted and removed";
/// The image that Hydrophone reads the suite's files with: one with a shell, which all nodes of the
/// test cluster have.
const SHELL: &str = "localhost/busybox:lab";

/// Adds the name and the status of each test that was not skipped.
fn collect(items: &Value, verdicts: &mut BTreeMap<String, String>) {
    for item in items.as_array().into_iter().flatten() {
        let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
        if item["items"].as_array().is_some_and(|items| !items.is_empty()) {
            collect(&item["items"], verdicts);
        } else if text("status") != "skipped" {
            verdicts.insert(text("name"), text("status"));
        }
    }
}

/// Returns the status of each test that was not skipped, as Plumbline reads it from `input`.
fn verdicts(bed: &Bed, input: &[&str]) -> BTreeMap<String, String> {
    let trees = bed.plumbline(&[&["results"], input, &["-o", "json"]].concat()).expect(1).json();
    let mut verdicts = BTreeMap::new();
    collect(&trees, &mut verdicts);
    verdicts
}

#[test]
fn hydrophone_gives_each_test_the_same_verdict() {
    let Some(program) = std::env::var_os("PLUMBLINE_E2E_HYDROPHONE").map(PathBuf::from) else {
        loudly("SKIPPED suite-hydrophone: PLUMBLINE_E2E_HYDROPHONE names no program; `--interop` builds it");
        return;
    };
    let Some((bed, _)) = bed_alone("suite-hydrophone") else { return };
    let _refused = Refused::secrets(&bed, ITS_SECRETS);
    let focus = [&[QUICK][..], &SELECTION[SELECTION.len() - 1..]].concat().join("|");
    // The suite has failed.
    let place = ["--namespace", bed.namespace(), "--output-dir", "theirs", "--busybox-image", SHELL];
    bed.program(&program, &[&place[..], &["--focus", &focus]].concat()).expect(1);
    let chosen = ["--e2e-focus", &focus, "--e2e-skip", "there is no such test"];
    conformance(&bed, &chosen).expect(1);

    let theirs = verdicts(&bed, &["theirs/junit_01.xml"]);
    let of = |start: &str| {
        let found = theirs.iter().find(|(name, _)| name.contains(start));
        found.map(|(_, verdict)| verdict.as_str())
    };
    assert_eq!((of(QUICK), of(FAILS)), (Some("passed"), Some("failed")), "{theirs:#?}");
    assert_eq!(verdicts(&bed, &["out", "-p", "e2e"]), theirs);
}
