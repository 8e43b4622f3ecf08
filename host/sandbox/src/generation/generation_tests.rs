use super::*;

#[test]
fn versions_are_distinguished() {
    for (version, known) in [
        ("0.1.0", Ordering::Equal),
        ("0.1.7", Ordering::Equal),
        ("0.1.7+build.1", Ordering::Equal),
        ("0.2.0", Ordering::Greater),
        ("1.0.0-rc.1", Ordering::Greater),
        ("0.0.9", Ordering::Less),
        ("0.1.0-draft", Ordering::Less),
        ("", Ordering::Less),
        ("x", Ordering::Less),
    ] {
        assert_eq!(compare(version), known, "{version}");
    }
}

#[test]
fn messages_say_which_side_is_behind() {
    let message = |version: &str| check("junit", &[version.to_owned()]).unwrap_err().to_string();
    assert_eq!(
        message("0.2.0"),
        "module `junit` is newer than this host: it uses `plumbline:plugin@0.2.0`, this host `0.1.0`"
    );
    assert!(message("").starts_with("module `junit` is older than this host: it uses `plumbline:plugin@(no version)`"));
    assert!(check("junit", &["0.1.0".into()]).is_ok());
}
