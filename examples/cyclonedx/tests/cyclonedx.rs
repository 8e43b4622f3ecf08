//! Tests of the conversion of documents.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::io::{self, Read};

use plumbline_module_cyclonedx::{CycloneDx, MAX_NAMES};
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Detail, Item};
use proptest::prelude::*;
use serde_json::{Value, json};

const VULNERABILITIES: &str = include_str!("vulnerabilities/results/global/image.cdx.json");

fn case(content: impl Into<Vec<u8>>) -> Case {
    Case::new().file("results/global/a.cdx.json", content)
}

fn outline(content: impl Into<Vec<u8>>) -> String {
    case(content).run::<CycloneDx>().outline()
}

fn meta<'a>(item: &'a Item, key: &str) -> Option<&'a str> {
    item.meta.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str())
}

fn detail(item: &Item, key: &str) -> Value {
    match &item.details.iter().find(|(own, _)| own == key).unwrap_or_else(|| panic!("{key}: {item:?}")).1 {
        Detail::Text(text) => json!(text),
        Detail::Json(text) => serde_json::from_str(text).unwrap(),
    }
}

/// Runs the module on a document with only these `vulnerabilities`.
fn of(vulnerabilities: Value) -> Run {
    let document = json!({ "bomFormat": "CycloneDX", "specVersion": "1.6", "vulnerabilities": vulnerabilities });
    case(document.to_string()).run::<CycloneDx>()
}

#[test]
fn each_vulnerability_ends_as_its_analysis_and_severity_say() {
    let run = case(VULNERABILITIES).run::<CycloneDx>();
    assert_eq!(run.outcome, Ok(()));
    assert_eq!(
        run.outline(),
        "a.cdx.json: -\n  \
         CVE-2021-44228 in log-core 2.14.1: failed\n  \
         CVE-2024-0727 in libssl3 3.0.11: passed\n  \
         CVE-2023-45853 in zlib1g 1.2.13: skipped\n  \
         GHSA-aaaa-bbbb-cccc in 2 components: failed\n  \
         CVE-2026-0001: passed\n  \
         CVE-2026-0002 in pkg:npm/left@1.0: unknown\n  \
         CVE-2026-0003: skipped\n  \
         components: passed\n"
    );
    // The result does not depend on where the host splits the file.
    assert_eq!(case(VULNERABILITIES).chunk(1).run::<CycloneDx>(), run);
}

#[test]
fn items_say_what_a_person_asks_next() {
    let run = case(VULNERABILITIES).run::<CycloneDx>();
    let worst = run.item("CVE-2021-44228 in log-core 2.14.1").unwrap();
    let facts = [
        ("id", "CVE-2021-44228"),
        ("severity", "critical"),
        ("score", "10"),
        ("method", "CVSSv31"),
        ("source", "NVD"),
        ("url", "https://nvd.nist.gov/vuln/detail/CVE-2021-44228"),
        ("analysis", "exploitable"),
    ];
    for (key, value) in facts {
        assert_eq!(meta(worst, key), Some(value), "{key}");
    }
    let text = "A logged text can name a class that is then loaded from the network.\n\nUpdate to 2.17.1.";
    assert_eq!(detail(worst, "failure"), text);
    let skipped = run.item("CVE-2023-45853 in zlib1g 1.2.13").unwrap();
    assert_eq!(
        (meta(skipped, "severity"), meta(skipped, "justification")),
        (Some("critical"), Some("code_not_reachable"))
    );
    assert_eq!(detail(skipped, "analysis"), "The function is not part of the package.");
    let several = run.item("GHSA-aaaa-bbbb-cccc in 2 components").unwrap();
    assert_eq!(detail(several, "affects"), json!(["json-reader 0.9", "shop 2.3.1"]));
}

#[test]
fn components_and_licences_are_counted_also_inside_of_others() {
    let run = case(VULNERABILITIES).run::<CycloneDx>();
    let item = run.item("components").unwrap();
    for (key, value) in [
        ("components", "5"),
        ("licences", "3"),
        ("without a licence", "1"),
        ("spec", "1.6"),
        ("of", "shop"),
        ("version", "2.3.1"),
        ("timestamp", "2026-03-01T12:00:00Z"),
    ] {
        assert_eq!(meta(item, key), Some(value), "{key}");
    }
    assert_eq!(detail(item, "types"), json!({ "library": 4, "operating-system": 1 }));
    assert_eq!(detail(item, "licences"), json!({ "Apache-2.0": 2, "OpenSSL License": 1, "Zlib AND MIT": 1 }));
}

#[test]
fn the_severities_that_fail_can_be_chosen() {
    let with = |fail_on: Value| case(VULNERABILITIES).option("fail-on", fail_on).run::<CycloneDx>();
    let strict = with(json!(["critical", "high", "medium", "unknown"]));
    for name in ["CVE-2024-0727 in libssl3 3.0.11", "CVE-2026-0002 in pkg:npm/left@1.0"] {
        assert_eq!(strict.item(name).unwrap().status, Some(plumbline_sdk::Status::Failed), "{name}");
    }
    let error = with(json!([])).outcome.unwrap_err();
    assert!(error.contains("nothing could fail"), "{error}");
    let error = with(json!(["grave"])).outcome.unwrap_err();
    assert!(error.contains("unknown variant `grave`"), "{error}");
    let error = case("{}").option("fail_on", json!([])).run::<CycloneDx>().outcome.unwrap_err();
    assert!(error.contains("unknown field `fail_on`"), "{error}");
}

#[test]
fn a_document_without_vulnerabilities_says_which_kind_it_is() {
    let inventory = include_str!("inventory/results/global/image.cdx.json");
    assert_eq!(outline(inventory), "a.cdx.json: -\n  vulnerabilities: skipped\n  components: passed\n");
    assert_eq!(of(json!([])).outline(), "a.cdx.json: -\n  vulnerabilities: passed\n  components: passed\n");
}

#[test]
fn keys_are_accepted_in_any_order_and_null_is_ignored() {
    let document = r#"{"vulnerabilities": [{"id": "V", "ratings": null, "affects": [{"ref": "late"}], "analysis": null}],
        "components": [{"bom-ref": "late", "name": null, "licenses": null}], "specVersion": "1.6", "metadata": null, "bomFormat": "CycloneDX"}"#;
    assert_eq!(outline(document), "a.cdx.json: -\n  V in late: unknown\n  components: passed\n");
    assert_eq!(outline(format!("\u{feff}  \n{document}")), outline(document));
}

#[test]
fn unreadable_input_is_reported_and_earlier_items_stay() {
    let unreadable = |content: &str| {
        let run = case(content).run::<CycloneDx>();
        meta(run.items.last().unwrap(), "error").unwrap_or_else(|| panic!("{run:?}")).to_owned()
    };
    assert_eq!(unreadable(""), "the file is empty");
    assert_eq!(unreadable("<bom/>"), "this is XML: only the JSON form of CycloneDX is read");
    assert_eq!(unreadable("[]"), "this is not a CycloneDX document in JSON, which begins with `{`");
    assert_eq!(unreadable(r#"{"spdxVersion": "SPDX-2.3"}"#), "not a CycloneDX document: it has no `bomFormat`");
    assert_eq!(unreadable(r#"{"bomFormat": "SPDX"}"#), "not a CycloneDX document: its `bomFormat` is `SPDX`");
    assert!(unreadable(r#"{"components": 7}"#).starts_with("invalid type: integer `7`, expected a list of components"));
    let deep = format!("{{\"components\": {}", r#"[{"components": "#.repeat(10_000));
    assert!(unreadable(&deep).starts_with("recursion limit exceeded"));
    let broken = include_str!("broken/results/global/image.cdx.json");
    assert_eq!(outline(broken), "a.cdx.json: -\n  CVE-2026-0004: passed\n  unreadable: unknown\n");
    let run = Case::new().broken_file("a.cdx.json", r#"{"bomFormat": "Cyc"#, "the disk is gone").run::<CycloneDx>();
    assert_eq!(meta(run.items.last().unwrap(), "error"), Some("the disk is gone at line 1 column 18"));
    // The next file is still read.
    let two =
        Case::new().file("a.cdx.json", "{").file("b.cdx.json", r#"{"bomFormat": "CycloneDX"}"#).run::<CycloneDx>();
    assert!(two.outline().ends_with("b.cdx.json: -\n  vulnerabilities: skipped\n  components: passed\n"));
}

#[test]
fn long_text_is_truncated_and_long_lists_are_counted() {
    let affects: Vec<Value> = (0..200).map(|i| json!({ "ref": format!("r{i}") })).collect();
    let run = of(
        json!([{ "id": "x".repeat(10_000), "description": "d".repeat(1 << 20), "ratings": [{ "severity": "high" }], "affects": affects }]),
    );
    let item = &run.items[1];
    assert!(item.bytes() < 10_000, "{}", item.bytes());
    let named = detail(item, "affects");
    assert_eq!((named[0].as_str(), named[50].as_str()), (Some("r0"), Some("and 150 more")));
    let components: Vec<Value> = (0..1_000)
        .map(|i| json!({ "type": format!("t{i}"), "licenses": [{ "license": { "id": format!("L{i}") } }] }))
        .collect();
    let run = case(json!({ "bomFormat": "CycloneDX", "components": components }).to_string()).run::<CycloneDx>();
    let item = run.item("components").unwrap();
    assert_eq!(meta(item, "licences"), Some("more than 200"));
    assert_eq!(detail(item, "types")["(others)"], 800);
}

/// A document with more components than are kept, generated while it is read.
struct Endless(u64, Vec<u8>);

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.1.len() < into.len() && self.0 <= 2 * MAX_NAMES as u64 {
            let text = match self.0 {
                0 => r#"{"bomFormat": "CycloneDX", "components": [{"bom-ref": "first", "name": "the first"}"#.to_owned(),
                i if i == 2 * MAX_NAMES as u64 => {
                    r#"], "vulnerabilities": [{"id": "V", "affects": [{"ref": "first"}]}, {"id": "W", "affects": [{"ref": "n150000"}]}]}"#
                        .to_owned()
                }
                i => format!(r#", {{"bom-ref": "n{i}", "name": "number {i}", "version": "1", "type": "library"}}"#),
            };
            self.1.extend(text.bytes());
            self.0 += 1;
        }
        let count = into.len().min(self.1.len());
        into[..count].copy_from_slice(&self.1[..count]);
        self.1.drain(..count);
        Ok(count)
    }
}

#[test]
fn more_components_than_are_remembered_are_counted() {
    let run = Case::new().generated_file("a.cdx.json", 1, || Endless(0, Vec::new())).run::<CycloneDx>();
    assert_eq!(
        run.outline(),
        "a.cdx.json: -\n  V in the first: unknown\n  W in n150000: unknown\n  components: passed\n"
    );
    assert_eq!(meta(run.item("components").unwrap(), "components"), Some("200000"));
}

proptest! {
    #[test]
    fn damaged_documents_never_panic(at in 0..VULNERABILITIES.len(), byte: u8, cut in 0..VULNERABILITIES.len()) {
        let mut content = VULNERABILITIES.as_bytes().to_vec();
        content[at] = byte;
        let whole = case(content.clone()).run::<CycloneDx>();
        prop_assert_eq!(whole.outcome, Ok(()));
        content.truncate(cut);
        let run = case(content).run::<CycloneDx>();
        prop_assert_eq!(run.items.last().unwrap().status.clone(), Some(plumbline_sdk::Status::Unknown));
    }

    #[test]
    fn any_bytes_are_read_or_refused(content in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(case(content).run::<CycloneDx>().outcome, Ok(()));
    }
}
