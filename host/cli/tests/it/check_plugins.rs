//! A check has what every plugin has: judges, a timeout, and results that can be read again.

use std::fs;

use serde_json::Value;

use crate::bed::Bed;
use crate::checks::{assert_kept, bundle, compile, reason, run};

#[test]
fn judges_decide_about_the_items_of_a_check() {
    let bed = Bed::new();
    for (want, code, status) in [("== 1", 0, "passed"), ("== 2", 1, "failed")] {
        let options = format!("{{checks: [{{id: N-001, name: number of items, items: passed, want: '{want}'}}]}}");
        bundle(&bed, "progress-flood", &format!("  verdict: [{{judge: checks, options: {options}}}]\n"));
        run(&bed).expect(code);
        let verdict: Value = serde_json::from_str(&bed.member("plugins/look/plumbline_verdict.json")).unwrap();
        assert_eq!(verdict["status"], status, "{verdict:#}");
        // The items come from the archive, and the judge decides again.
        bed.plumbline(&["results", &bed.archive(), "--reprocess"]).expect(code);
        fs::remove_dir_all(bed.path("out")).unwrap();
    }
}

/// The check ends before its plugin times out, so its items arrive as a result and not as partial
/// results next to an error.
#[test]
fn the_timeout_of_a_plugin_ends_its_check_and_the_items_arrive() {
    let bed = Bed::new();
    compile(&bed);
    bundle(&bed, "loop-halfway", "  timeout: 16s\n");
    assert_ne!(run(&bed).code, 0);
    assert!(reason(&bed).contains("limit"), "{}", reason(&bed));
    assert_kept(&bed);
    assert!(!bed.members().iter().any(|member| member.contains("/errors/")), "{:?}", bed.members());
}
