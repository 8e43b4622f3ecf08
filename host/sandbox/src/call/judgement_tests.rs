use plumbline_core::CheckOutcome;
use proptest::prelude::*;

use super::*;

fn ruling(class: &str) -> Ruling {
    Ruling { class: class.into(), ..Ruling::default() }
}

fn check(id: &str) -> Check {
    let text = String::new;
    Check { id: id.into(), name: text(), outcome: CheckOutcome::Passed, want: text(), got: text(), reason: text() }
}

fn ruler(leaves: &[bool]) -> Ruler {
    let mut ruler = Ruler::new(&ModuleLimits::default());
    leaves.iter().for_each(|leaf| _ = ruler.give(*leaf));
    ruler
}

#[test]
fn leaves_that_were_given_can_be_ruled_on_and_nothing_else() {
    let mut ruler = ruler(&[false, true]);
    let error_of = |stop: Result<(u64, Ruling), Stop>| stop.unwrap_err().to_string();
    assert_eq!(ruler.ruling(1, ruling("flaky")), Ok((1, ruling("flaky"))));
    assert_eq!(ruler.ruling(1, ruling("late")), Ok((1, ruling("late"))), "again, and the last counts");
    assert_eq!(error_of(ruler.ruling(0, ruling("x"))), "only leaves can be ruled on: item 0 has children");
    let stranger = error_of(ruler.ruling(2, ruling("x")));
    assert_eq!(stranger, "only items that were given can be ruled on: item 2, where 2 were given");
    assert!(error_of(ruler.ruling(u64::MAX, ruling("x"))).contains("item 18446744073709551615"));
    assert_eq!(ruler.items, 2);
}

#[test]
fn classes_are_words() {
    let mut ruler = ruler(&[true]);
    for (class, good) in [
        ("a", true),
        ("known-failure", true),
        ("2nd-try", true),
        (&*"c".repeat(64), true),
        (&*"c".repeat(65), false),
        ("", false),
        ("Flaky", false),
        ("not known", false),
        ("flaky\n", false),
        ("ü", false),
    ] {
        assert_eq!(ruler.ruling(0, ruling(class)).is_ok(), good, "{class:?}");
    }
}

#[test]
fn texts_are_short() {
    let mut ruler = ruler(&[true]);
    let fits = |ruler: &mut Ruler, length: usize| {
        let long = Ruling { reason: "r".repeat(length), ..ruling("x") };
        let check = Check { got: "g".repeat(length), ..check(&length.to_string()) };
        (ruler.ruling(0, long).is_ok(), ruler.check(check).is_ok())
    };
    assert_eq!((fits(&mut ruler, MAX_TEXT), fits(&mut ruler, MAX_TEXT + 1)), ((true, true), (false, false)));
    let source = Ruling { source: "s".repeat(5000), ..ruling("x") };
    let message = ruler.ruling(0, source).unwrap_err().to_string();
    assert_eq!(
        message,
        "a judge's strings must be short: the source of the ruling on item 0 has 5000 bytes (at most 4096)"
    );
}

#[test]
fn a_check_has_a_unique_id() {
    let mut ruler = ruler(&[]);
    ruler.check(check("PODS-001")).unwrap();
    let error_of = |stop: Result<Check, Stop>| stop.unwrap_err().to_string();
    assert_eq!(error_of(ruler.check(check("PODS-001"))), "a check is reported once: `PODS-001`");
    assert!(error_of(ruler.check(check(""))).ends_with("check 2 has an id of 0 characters (1 to 64)"));
    ruler.check(check(&"ü".repeat(64))).unwrap();
    assert!(ruler.check(check(&"ü".repeat(65))).is_err());
    (2..MAX_CHECKS).for_each(|n| _ = ruler.check(check(&n.to_string())).unwrap());
    let message = error_of(ruler.check(check("one-more")));
    assert_eq!(message, "a judge must not report too many checks: there are more than 10000 checks: `one-more`");
}

#[test]
fn rulings_and_checks_count_against_the_limits() {
    let limits = ModuleLimits { items: 2, output_bytes: 100, ..ModuleLimits::default() };
    let mut ruler = Ruler { limits, ..ruler(&[true]) };
    ruler.ruling(0, ruling("x")).unwrap();
    let large = Check { got: "g".repeat(100), ..check("a") };
    assert_eq!(ruler.check(large), Err(Stop::limit("output-bytes", 100, Unit::Bytes)));
    ruler.check(check("b")).unwrap();
    assert_eq!((ruler.items, ruler.bytes), (2, 2 * (ENTRY_BYTES + 1)));
    assert_eq!(ruler.ruling(0, ruling("x")), Err(Stop::limit("items", 2, Unit::Items)));
}

proptest! {
    /// Every item is remembered correctly, however many there are, and no item exists after the
    /// last.
    #[test]
    fn items_that_were_read_are_remembered(leaves in prop::collection::vec(any::<bool>(), 0..300)) {
        let mut given = ReadItems::default();
        for (index, leaf) in (0u64..).zip(&leaves) {
            prop_assert_eq!(given.push(*leaf), index);
        }
        for (index, leaf) in (0u64..).zip(&leaves) {
            prop_assert_eq!(given.leaf(index), Some(*leaf));
        }
        prop_assert_eq!(given.leaf(leaves.len() as u64), None);
    }
}
