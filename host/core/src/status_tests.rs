use super::*;

#[test]
fn every_status_is_read_as_it_is_written() {
    let standard = ["passed", "failed", "skipped", "timeout", "unknown", "not-read"];
    assert!(standard.iter().all(|text| !Status::from(*text).is_custom()));
    for text in standard.into_iter().chain(["warning", "failed: 1, passed: 2", "Passed"]) {
        let status = Status::from(text);
        assert_eq!(status.to_string(), text);
        assert_eq!(serde_json::to_string(&status).unwrap(), format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<Status>(&format!("\"{text}\"")).unwrap(), status);
    }
    assert_eq!(Status::from("timeout"), Status::Timeout);
    // Words are matched exactly: only these six in lower case are standard statuses.
    assert!(Status::from("Passed").is_custom());
    assert_eq!(Status::from(""), Status::Unknown);
}

#[test]
fn plain_words_count_as_what_they_say() {
    for (text, meaning) in [
        ("fail", Status::Failed),
        ("FAIL", Status::Failed),
        ("Errored", Status::Failed),
        (" crashed\n", Status::Failed),
        ("not ok", Status::Failed),
        ("timed-out", Status::Timeout),
        ("TIME_OUT", Status::Timeout),
        ("TimedOut", Status::Timeout),
        ("Skip", Status::Skipped),
        ("not run", Status::Skipped),
        ("NotRead", Status::NotRead),
        ("PASSED", Status::Passed),
        ("  ", Status::Unknown),
    ] {
        assert_eq!(Status::from(text).meaning(), meaning, "{text}");
    }
    // `killed` is the good outcome of a mutant.
    for own in ["warning", "killed", "pass", "ok", "failed badly", "erroneous", "--", "failed: 1"] {
        assert_eq!(Status::from(own).meaning(), Status::from(own));
    }
}

#[test]
fn the_manual_lists_every_word() {
    let manual = include_str!("../../../docs/exit-codes.md");
    for word in WORDS.iter().flat_map(|(_, words)| *words) {
        assert!(manual.contains(&format!("`{word}`")), "{word}");
    }
}
