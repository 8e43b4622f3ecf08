//! Tests of valid and invalid policies.

use super::*;
use crate::signing::key::{PrivateKey, write_pair};

fn key() -> String {
    PrivateKey::generate().unwrap().0.public().to_pem().replace('\n', "\n      ")
}

/// Returns a policy with the keys `release` and `ci`.
fn policy(rest: &str) -> Result<Policy, Wrong> {
    let (release, ci) = (key(), key());
    let text = format!(
        "version: 1\nkeys:\n  release:\n    not-after: 2027-12-31\n    pem: |\n      {release}\n  ci:\n    pem: |\n      {ci}\n{rest}"
    );
    parse(&text, Path::new(""))
}

fn names(policy: &Policy, name: &str, reference: Option<&str>) -> Option<Vec<String>> {
    Some(policy.keys_for(name, reference)?.iter().map(|key| key.name.clone()).collect())
}

#[test]
fn the_first_rule_that_matches_name_or_reference_counts() {
    let policy = policy(
        "rules:\n- {names: [acme-*, other], keys: [release]}\n- {names: ['oci://r.example/team/**'], keys: [ci, release]}\n- {names: [none], keys: []}\n",
    )
    .unwrap();
    let of = |name, reference| names(&policy, name, reference);
    let wanted = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
    assert_eq!(of("acme-tap", None), wanted(&["release"]));
    assert_eq!(of("acme-tap", Some("oci://r.example/team/tap:1")), wanted(&["release"]));
    assert_eq!(of("tap", Some("oci://r.example/team/sub/tap:1@sha256:00")), wanted(&["ci", "release"]));
    assert_eq!(of("tap", Some("oci://r.example/teammate/tap:1")), None);
    assert_eq!(of("tap", Some("oci://r.example.evil/team/tap:1")), None);
    assert_eq!(of("none", None), wanted(&[]));
    assert_eq!(of("tap", None), None);
    assert_eq!(of("ACME-tap", None), None);
    let release = policy.keys_for("other", None).unwrap()[0];
    assert_eq!(release.not_after.unwrap().to_string(), "2028-01-01T00:00:00Z");
}

#[test]
fn a_star_stays_within_a_part() {
    let policy = policy("rules: [{names: ['oci://r.example/*/tap', '*'], keys: [ci]}]\n").unwrap();
    let matches = |name, reference| policy.keys_for(name, reference).is_some();
    assert!(matches("anything", None));
    // The name of a plugin has no slash. Only a reference can match a pattern with slashes.
    assert!(!matches("a/b", None));
    assert!(matches("a/b", Some("oci://r.example/x/tap")));
    assert!(!matches("a/b", Some("oci://r.example/x/y/tap")));
}

#[test]
fn an_invalid_part_invalidates_the_whole_policy() {
    let error_of = |rest: &str| policy(rest).unwrap_err();
    insta::assert_snapshot!(
        [
            "rules: []\nrule: []\n",
            "rules: [{name: [a], keys: [ci]}]\n",
            "rules: [{names: [a], keys: [ci], until: 2027-01-01}]\n",
            "rules: [{names: [a], keys: [relaese]}]\n",
            "rules: [{names: [a], keys: [nobody]}]\n",
            "rules: [{names: [], keys: [ci]}]\n",
            "rules: [{names: [a]}]\n",
            "rules: [{names: ['[a'], keys: [ci]}]\n",
            "rules: [{names: [7], keys: [ci]}]\n",
            "rules: {}\n",
            "",
        ]
        .map(error_of)
        .join("\n"),
        @"
        `rule` is not a known key: did you mean `rules`?
        `rules[0].name` is not a known key: did you mean `names`?
        `rules[0].until` is not a known key: known keys: `names`, `keys`
        `rules[0].keys` names the key `relaese`, which is not under `keys`: did you mean `release`?
        `rules[0].keys` names the key `nobody`, which is not under `keys` (`ci`, `release`)
        `rules[0].names` is empty: list at least one name
        `rules[0]` has no `keys`
        `rules[0].names`: error parsing glob '[a': unclosed character class; missing ']'
        `rules[0].names` must be text
        `rules` must be a list
        `rules` is missing
        "
    );
}

#[test]
fn keys_that_cannot_be_used_are_named() {
    let dir = tempfile::tempdir().unwrap();
    write_pair(&dir.path().join("mine"), false).unwrap();
    let outcome = |keys: &str| match parse(&format!("version: 1\nkeys: {keys}\nrules: []\n"), dir.path()) {
        Ok(policy) => format!("{} keys", policy.keys.len()),
        Err(wrong) => wrong.replace(&dir.path().display().to_string(), "DIR"),
    };
    insta::assert_snapshot!(
        [
            "{a: {file: mine.pub}}",
            "{a: {file: mine.key}}",
            "{a: {file: gone.pub}}",
            "{a: {file: mine.pub}, b: {file: mine.pub}}",
            "{a: {file: mine.pub, pem: x}}",
            "{a: {pem: x}}",
            "{a: {not-after: 2027-01-01}}",
            "{a: {file: mine.pub, not-after: soon}}",
            "{a: {file: mine.pub, not_after: 2027-01-01}}",
            "{a: {file: mine.pub, not-after: 2027-01-01T10:00:00+02:00}}",
            "[]",
        ]
        .map(outcome)
        .join("\n"),
        @"
        1 keys
        `keys.a`: invalid key `DIR/mine.key`: it has `PRIVATE KEY`, expected `PUBLIC KEY`
        `keys.a`: failed to read key `DIR/gone.pub`: No such file or directory (os error 2)
        `keys.b` is the same key as `keys.a`
        `keys.a` needs either `file` or `pem`
        `keys.a`: it is not PEM text: it has no line `-----BEGIN PUBLIC KEY-----`
        `keys.a` needs either `file` or `pem`
        `keys.a.not-after` is not a date (`2027-12-31`) or a time (`2027-12-31T18:00:00Z`)
        `keys.a.not_after` is not a known key: did you mean `not-after`?
        1 keys
        `keys` must be a mapping
        "
    );
}

#[test]
fn an_invalid_policy_is_rejected() {
    let error_of = |text: &str| parse(text, Path::new("")).unwrap_err();
    assert_eq!(error_of("version: 2\nkeys: {}\nrules: []\n"), "`version` is 2; this program reads version 1");
    assert_eq!(error_of("keys: {}\nrules: []\n"), "`version` is missing: add `version: 1`");
    assert_eq!(error_of("- a\n"), "the document must be a mapping");
    assert!(error_of(&" ".repeat(300 << 10)).contains("longer than"));
    // A duplicate key is ambiguous.
    assert!(parse("version: 1\nkeys: {}\nrules: []\nrules: []\n", Path::new("")).is_err());
    assert!(parse("version: 1\nkeys: &a {}\nrules: [*a]\n", Path::new("")).is_err());
    assert!(parse(&format!("version: 1\nkeys: {}\n", "[".repeat(50_000)), Path::new("")).is_err());
}

#[test]
fn the_documented_policy_is_one() {
    let text = include_str!("../../../../docs/signing.md");
    let (_, rest) = text.split_once("```yaml\n").unwrap();
    let (policy, _) = rest.split_once("```").unwrap();
    let dir = tempfile::tempdir().unwrap();
    write_pair(&dir.path().join("release"), false).unwrap();
    let policy = parse(policy, dir.path()).unwrap();
    let tap = Some(vec!["release".to_owned()]);
    assert_eq!(names(&policy, "tap", None), tap);
    assert_eq!(names(&policy, "experiment", None), Some(vec![]));
    let reference = "oci://registry.example/team/sub/x:1";
    assert_eq!(names(&policy, "x", Some(reference)).unwrap().len(), 2);
}

#[test]
fn tag_and_digest_do_not_belong_to_the_repository() {
    for (reference, wanted) in [
        ("oci://r.example/team/tap:1.2@sha256:00", "oci://r.example/team/tap"),
        ("oci://r.example:5000/team/tap", "oci://r.example:5000/team/tap"),
        ("oci://r.example:5000/tap:1", "oci://r.example:5000/tap"),
        ("oci://r.example/tap@sha256:00", "oci://r.example/tap"),
    ] {
        assert_eq!(repository(reference), wanted, "{reference}");
    }
}
