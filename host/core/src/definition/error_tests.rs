use super::*;

#[test]
fn warnings_are_bounded() {
    let mut warnings = Warnings::default();
    for i in 0..1_000 {
        warnings.unknown_key(&format!("key-{i}"), "key", ["kex"].into_iter());
    }
    let warnings = warnings.0;
    assert_eq!(warnings.len(), MAX_WARNINGS + 1);
    assert_eq!(warnings[MAX_WARNINGS].to_string(), "more warnings are not shown");
}
