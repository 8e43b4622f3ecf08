//! Tests of invalid files.

use plumbline_module_gojson::{GoJson, MAX_EVENT};
use plumbline_sdk::testing::{Case, Run};
use plumbline_sdk::{Detail, Status};
use proptest::prelude::*;

use crate::events::read;

const GOOD: &str = "{\"Action\":\"pass\",\"Test\":\"A\"}\n";

/// Returns the reason, which is in the last item. That item must be `unknown`.
fn reason(run: &Run) -> &str {
    let item = run.items.last().unwrap();
    assert_eq!(item.status, Some(Status::Unknown), "{}", run.outline());
    item.meta.iter().find(|(key, _)| key == "error").map(|(_, reason)| reason.as_str()).unwrap()
}

#[test]
fn items_before_the_fault_stay_and_the_file_cannot_pass() {
    let run = read(format!("{GOOD}# example.com/p\n{GOOD}"));
    assert_eq!(
        run.outline(),
        "out.json: -\n  A: passed\n  unreadable: line 2: `# example.com/p` is not an event: unknown\n"
    );
    assert_eq!(reason(&run), "line 2: `# example.com/p` is not an event");
    for (rest, want) in [
        ("{\"Action\":\"pa", "line 2: the file ends within an event"),
        ("{\"Action\":1}", "line 2: invalid type"),
        ("\n\n{\"Action\" \"pass\"}", "line 4: expected"),
        ("{\"Action\":[}", "line 2: "),
        ("[1]", "line 2: `[1]` is not an event"),
        ("null", "line 2: `null` is not an event"),
        ("ok  \tp\t0.01s", "line 2: `ok  \\tp\\t0.01s` is not an event"),
    ] {
        let run = read(format!("{GOOD}{rest}"));
        assert_eq!(run.count(&Status::Passed), 1);
        assert!(reason(&run).starts_with(want), "{rest}: {}", reason(&run));
    }
}

#[test]
fn a_package_without_an_end_cannot_pass() {
    let start = "{\"Action\":\"start\",\"Package\":\"p\"}\n";
    let stuck = "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"B\",\"Output\":\"waiting\\n\"}\n";
    let run = read(format!("{start}{GOOD}{stuck}"));
    assert_eq!(run.outline(), "out.json: -\n  A: passed\n  p: unknown\n");
    assert_eq!(reason(&run), "the file ends before this package");
    let text = Detail::Text("B has not ended:\nwaiting".to_owned());
    assert_eq!(run.items.last().unwrap().details, [("failure".to_owned(), text)]);
    // Its end, whatever it is, decides.
    let passed = read(format!("{start}{GOOD}{stuck}{{\"Action\":\"pass\",\"Package\":\"p\"}}"));
    assert_eq!(passed.outline(), "out.json: -\n  A: passed\n");
    // Nothing but the start is no success either.
    assert_eq!(read(start).outline(), "out.json: -\n  p: unknown\n");
}

#[test]
fn a_file_has_the_same_items_wherever_the_host_splits_it() {
    let failed = "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"B\",\"Output\":\"want ä\\n\"}\n{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"B\"}\n";
    let text = format!("{GOOD}{failed}ok  \tp\t0.01s\n{GOOD}");
    let whole = read(text.clone());
    assert_eq!(reason(&whole), "line 4: `ok  \\tp\\t0.01s` is not an event");
    for piece in 1..=text.len() {
        let size = u32::try_from(piece).unwrap();
        let cut = Case::new().file("results/global/out.json", text.clone()).chunk(size).run::<GoJson>();
        assert_eq!(cut.items, whole.items, "in pieces of {piece} bytes");
    }
}

#[test]
fn without_any_item_the_file_itself_bears_the_reason() {
    let run = read("--- FAIL: TestA\n");
    assert_eq!(run.outline(), "out.json: unknown\n");
    assert_eq!(reason(&run), "line 1: `--- FAIL: TestA` is not an event");
}

#[test]
fn a_disk_that_breaks_is_named_and_the_next_file_is_read() {
    let run = Case::new()
        .broken_file("results/global/a.json", GOOD, "the disk is gone")
        .file("results/global/b.json", GOOD)
        .run::<GoJson>();
    assert_eq!(
        run.outline(),
        "a.json: -\n  A: passed\n  unreadable: the disk is gone: unknown\nb.json: -\n  A: passed\n"
    );
}

#[test]
fn an_event_over_the_bound_ends_the_file() {
    let run = read(format!("{GOOD}{{\"Output\":\"{}\"}}", "x".repeat(MAX_EVENT)));
    assert_eq!(reason(&run), "line 2: an event is longer than 8388608 bytes");
}

#[test]
fn deep_nesting_of_what_does_not_matter_is_survived() {
    let depth = 1_000_000;
    let run = read(format!("{{\"x\":{}{},\"Test\":\"A\",\"Action\":\"fail\"}}", "[".repeat(depth), "]".repeat(depth)));
    assert_eq!(run.outline(), "out.json: -\n  A: failed\n");
}

proptest! {
    #[test]
    fn any_bytes_are_survived_however_they_are_cut(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[{}\\[\\]\":,\\\\ATest a]{0,80}".prop_map(String::into_bytes),
            prop::collection::vec(prop::sample::select(vec![
                GOOD, "{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"B\"}", "{\"Action\":\"fail\",\"Package\":\"p\"}", "x", "{", " ",
            ]), 0..8).prop_map(|parts| parts.concat().into_bytes()),
        ],
        piece in 1_u32..20,
    ) {
        let case = Case::new().file("results/global/out.json", bytes);
        let whole = case.run::<GoJson>();
        prop_assert_eq!(&whole.outcome, &Ok(()));
        prop_assert!(!whole.items.is_empty());
        let pieces = case.chunk(piece).run::<GoJson>();
        prop_assert_eq!(whole.items, pieces.items);
    }
}
