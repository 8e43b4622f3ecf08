//! Tests of one machine's facts.

use plumbline_module_host_facts::HostFacts;
use plumbline_sdk::testing::Case;
use serde_json::{Value, json};

use crate::support::{detail, document, process, rolled_up, with};

#[test]
fn every_group_is_an_item_with_its_values() {
    let run = process(&document());
    insta::assert_snapshot!(serde_json::to_string_pretty(&rolled_up(&run)).unwrap());
}

#[test]
fn documents_without_the_prefix_and_without_our_own_key_are_read() {
    let old = json!({"ansible_facts": {
        "kernel": "5.15.0", "distribution": "Ubuntu", "swaptotal_mb": 2048, "cgroup_version": 1, "cgroup_controllers": ["cpu"]
    }, "errors": [{"fact": "product_name", "reason": "/sys/class/dmi/id/product_name: permission denied"}]});
    let run = process(&old);
    assert_eq!(
        run.outline(),
        "host-facts.json: -\n  system: passed\n  kernel: passed\n  memory: passed\n  cgroup: passed\n  swap: passed\n  errors: skipped\n"
    );
    assert_eq!(detail(&run, "kernel", "kernel"), "5.15.0");
    assert_eq!(detail(&run, "swap", "total_mb"), 2048);
    assert_eq!(detail(&run, "errors", "skipped"), "1 fact could not be read");
    assert_eq!(detail(&run, "errors", "errors")[0]["fact"], "product_name");
}

/// Returns the status of an item, and the detail with the reason.
fn judged(changes: &[(&str, Value)], options: &[(&str, Value)], item: &str, why: &str) -> (String, Value) {
    let case = options.iter().fold(Case::new(), |case, (key, value)| case.option(*key, value.clone()));
    let run = case.file("results/n1/host-facts.json", with(changes).to_string()).run::<HostFacts>();
    assert_eq!(run.outcome, Ok(()));
    let status = run.item(item).unwrap_or_else(|| panic!("{}", run.outline())).status.clone();
    (status.map(|status| status.to_string()).unwrap_or_default(), detail(&run, item, why))
}

#[test]
fn certificates_are_judged_by_the_machines_own_clock() {
    let certificate = |until: Value| [("/plumbline_facts/certificates", json!([{"path": "c", "not_after": until}]))];
    let judge = |until: &str, why: &str| judged(&certificate(json!(until)), &[], "c", why);
    let expired = "it expired 1.0 days before the facts were gathered";
    assert_eq!(judge("2026-11-20T16:56:00Z", "failure"), ("failed".into(), json!(expired)));
    assert_eq!(
        judge("2026-12-01T16:56:00Z", "warning"),
        ("warning".into(), json!("it expires in 10.0 days (within 30)"))
    );
    assert_eq!(judge("2027-12-01T16:56:00Z", "warning"), ("passed".into(), Value::Null));
    assert_eq!(judge("some day", "error"), ("unknown".into(), json!("it does not say when it expires")));
    let later = certificate(json!("2026-12-01T16:56:00Z"));
    assert_eq!(judged(&later, &[("certificate-days", json!(7))], "c", "warning").0, "passed");
    let no_clock = [later[0].clone(), ("/plumbline_facts/time", json!({}))];
    assert_eq!(judged(&no_clock, &[], "c", "skipped").0, "skipped");
}

#[test]
fn disks_and_clocks_are_warned_of() {
    let disk = |fields: Value| [("/plumbline_facts/disks", json!([fields]))];
    let full = disk(json!({"mount": "/var", "used_percent": 91}));
    assert_eq!(
        judged(&full, &[], "/var", "warning"),
        ("warning".into(), json!("91.0 % of its space are used (at least 85)"))
    );
    assert_eq!(judged(&full, &[("disk-percent", json!(95))], "/var", "warning").0, "passed");
    let inodes = disk(json!({"mount": "/var", "used_percent": 1, "inodes_used_percent": "99"}));
    assert_eq!(judged(&inodes, &[], "/var", "warning").1, "99.0 % of its inodes are used (at least 85)");
    let time = |value: Value| [("/plumbline_facts/time", value)];
    let off = time(json!({"synchronised": false}));
    assert_eq!(judged(&off, &[], "time", "warning"), ("warning".into(), json!("the clock is not synchronised")));
    let behind = time(json!({"synchronised": true, "offset_seconds": -3}));
    assert_eq!(judged(&behind, &[], "time", "warning").1, "the clock is off by -3.000 s (more than 0.5 s)");
    assert_eq!(judged(&behind, &[("clock-offset-seconds", json!(5))], "time", "warning").0, "passed");
}

#[test]
fn an_invalid_document_is_unknown_with_a_reason() {
    for (text, reason) in [
        ("", "it is not JSON: EOF while parsing a value at line 1 column 0"),
        ("[]", "it is not a JSON object"),
        ("{}", "it has neither `ansible_facts` nor `plumbline_facts`"),
        (r#"{"ansible_facts": 1}"#, "its `ansible_facts` is not a JSON object"),
    ] {
        let run = Case::new().file("results/n1/host-facts.json", text).run::<HostFacts>();
        assert_eq!((run.outcome.clone(), run.outline()), (Ok(()), "host-facts.json: unknown\n".to_owned()));
        assert!(run.items[0].meta.contains(&("error".to_owned(), reason.to_owned())), "{:?}", run.items);
    }
    let run = Case::new().broken_file("results/n1/host-facts.json", "{", "the disk is gone").run::<HostFacts>();
    assert!(run.items[0].meta.contains(&("error".to_owned(), "the disk is gone".to_owned())), "{:?}", run.items);
}

#[test]
fn a_misspelt_option_is_named() {
    let outcome = Case::new().option("certificat-days", 3).run::<HostFacts>().outcome;
    assert!(outcome.clone().unwrap_err().contains("unknown field `certificat-days`"), "{outcome:?}");
}
