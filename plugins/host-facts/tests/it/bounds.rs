//! Tests of hostile documents, and of results of other modules.

use plumbline_module_host_facts::{HostFacts, MAX_DOCUMENT};
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Detail, Item, Status};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{detail, nodes, process, with};

#[test]
fn a_document_that_is_too_large_is_refused_with_a_sentence() {
    let endless = || std::io::repeat(b' ');
    let run = Case::new().generated_file("results/n/host-facts.json", 1, endless).run::<HostFacts>();
    let error = ("error".to_owned(), "it is larger than 8 MiB, the limit for facts".to_owned());
    assert!(run.items[0].meta.contains(&error), "{:?}", run.items);
    assert_eq!(MAX_DOCUMENT, 8 << 20);
}

#[test]
fn long_lists_are_cut_and_counted() {
    let many = |entry: Value| Value::Array(vec![entry; 700]);
    let run = process(&with(&[
        ("/plumbline_facts/certificates", many(json!({"path": "", "not_after": 0}))),
        ("/errors", many(json!({"fact": "f".repeat(5000)}))),
    ]));
    assert_eq!(run.count(&Status::Failed), 500 + 1);
    assert_eq!(detail(&run, "certificates", "cut"), "200 more are not listed");
    assert_eq!(detail(&run, "errors", "cut"), "200 more are not listed");
    assert_eq!(detail(&run, "errors", "skipped"), "700 facts could not be read");
}

#[test]
fn a_certificate_that_is_not_listed_still_fails() {
    let certificate = |until: &str| json!({"path": "c", "not_after": until});
    let mut certificates = vec![certificate("2099-01-01T00:00:00Z"); 700];
    certificates[600] = certificate("2001-01-01T00:00:00Z");
    let run = process(&with(&[("/plumbline_facts/certificates", Value::Array(certificates))]));
    assert_eq!(run.item("200 more").unwrap().status, Some(Status::Failed));
    assert!(detail(&run, "200 more", "failure").as_str().unwrap().starts_with("it expired "));
}

#[test]
fn facts_that_were_not_compared_do_not_pass() {
    let sysctls: Value = (0..4_100).map(|key| (format!("k{key}"), json!("1"))).collect();
    let alike = with(&[("/plumbline_facts/sysctls", sysctls)]);
    let run = nodes(&[("a", alike.clone()), ("b", alike)]).summarize::<HostFacts>();
    let unknown: Vec<_> = run.items.iter().filter(|item| item.status == Some(Status::Unknown)).collect();
    assert!(unknown.len() == 1 && unknown[0].name.ends_with(" values were not compared"), "{}", run.outline());
    assert_eq!(run.item("drift").unwrap().status, None);
}

#[test]
fn where_nothing_is_alike_the_report_stays_short() {
    let node = |n: usize| {
        let sysctls: Value = (0..600).map(|key| (format!("k{key}"), json!(format!("{n}")))).collect();
        (format!("node-{n:03}"), with(&[("/plumbline_facts/sysctls", sysctls)]))
    };
    let made: Vec<(String, Value)> = (0..50).map(node).collect();
    let made: Vec<(&str, Value)> = made.iter().map(|(name, document)| (name.as_str(), document.clone())).collect();
    let run = nodes(&made).summarize::<HostFacts>();
    assert_eq!(run.items.len(), 1 + 500 + 1 + 1);
    assert!(run.item("100 facts more differ").is_some());
    let name = "sysctl k0: 49 of 50 nodes differ from 0";
    assert_eq!(detail(&run, name, "differing").as_array().unwrap().len(), 20);
    assert_eq!(detail(&run, name, "cut"), "29 nodes with further values are not listed");
    assert_eq!(
        detail(&run, name, "warning"),
        "node-001: 1; node-010: 10; node-011: 11; node-012: 12; node-013: 13; 44 more"
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,5}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Generates a valid document with some values replaced.
fn nearly() -> impl Strategy<Value = Value> {
    let places = [
        "/ansible_facts/ansible_kernel",
        "/ansible_facts/ansible_mounts",
        "/plumbline_facts/kubelet",
        "/plumbline_facts/kubelet/config",
        "/plumbline_facts/sysctls",
        "/plumbline_facts/time",
        "/plumbline_facts/time/epoch",
        "/plumbline_facts/certificates",
        "/plumbline_facts/certificates/0",
        "/plumbline_facts/certificates/0/not_after",
        "/plumbline_facts/disks/0",
        "/plumbline_facts/disks/0/used_percent",
        "/plumbline_facts/swap/total_mb",
        "/plumbline_facts/other",
        "/errors",
    ];
    (prop::sample::select(places.to_vec()), any_json()).prop_map(|(place, value)| with(&[(place, value)]))
}

fn any_item() -> impl Strategy<Value = Item> {
    let name = prop::sample::select(vec!["kernel", "kubelet", "cgroup", "sysctls", "time", "swap", "system", "x"]);
    let key =
        prop::sample::select(vec!["kernel", "version", "config", "controllers", "offset_seconds", "total_mb", "name"]);
    let detail =
        prop_oneof!["\\PC{0,8}".prop_map(Detail::Text), any_json().prop_map(|value| Detail::Json(value.to_string())),];
    (0..3_u32, name, any::<bool>(), prop::collection::vec((key.prop_map(str::to_owned), detail), 0..4)).prop_map(
        |(depth, name, file, details)| {
            let item = Item { details, ..Item::new(depth, name) };
            if file { item.meta("type", "file") } else { item }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// The harness enforces the host's rules for every item.
    #[test]
    fn any_bytes_become_a_tree(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let run = Case::new().file("results/n/host-facts.json", bytes).run::<HostFacts>();
        prop_assert_eq!(run.outcome, Ok(()));
    }

    #[test]
    fn documents_with_odd_places_are_read_and_compared(odd in nearly(), other in nearly()) {
        let run = process(&odd);
        prop_assert_eq!(run.outcome, Ok(()));
        prop_assert_eq!(nodes(&[("a", odd), ("b", other)]).summarize::<HostFacts>().outcome, Ok(()));
    }

    #[test]
    fn any_results_are_summarised(sets in prop::collection::vec(("[ab]", prop::collection::vec(any_item(), 0..6)), 0..5)) {
        let case = sets.into_iter().fold(Case::new(), |case, (set, items)| case.results(set, items));
        prop_assert_eq!(case.summarize::<HostFacts>().outcome, Ok(()));
    }
}
