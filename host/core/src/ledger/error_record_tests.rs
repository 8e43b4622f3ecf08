use super::*;
use jiff::Timestamp;
use serde_json::json;

#[test]
fn all_other_keys_of_an_error_are_kept() {
    let document =
        json!({"error": "image cannot be pulled", "pod": {"metadata": {"name": "p"}}, "node": "n1", "details": [1]});
    let record = ErrorRecord::from_json(document.to_string().as_bytes()).unwrap();
    assert_eq!(record.error, "image cannot be pulled");
    assert_eq!(record.details.keys().collect::<Vec<_>>(), ["details", "node", "pod"]);
    assert_eq!(record.to_error_json(), document);
}

#[test]
fn other_documents_are_refused_by_name() {
    for (document, error) in [
        ("[]", ErrorRecordError::NotAnObject),
        ("\"timeout\"", ErrorRecordError::NotAnObject),
        ("{}", ErrorRecordError::NoError),
        (r#"{"error": 7}"#, ErrorRecordError::NoError),
        (r#"{"error": null}"#, ErrorRecordError::NoError),
    ] {
        assert_eq!(ErrorRecord::from_json(document.as_bytes()), Err(error), "{document}");
    }
    for document in [&b""[..], b"{", b"{\"error\": \"\xff\"}", b"{\"error\": \"a\"} {}"] {
        assert!(matches!(ErrorRecord::from_json(document), Err(ErrorRecordError::Invalid(_))), "{document:?}");
    }
}

#[test]
fn accepted_errors_can_be_read_from_a_journal_and_others_are_rejected() {
    use crate::ledger::{Event, Record};
    let nested = |levels: usize| {
        // The object itself is the first level.
        format!(r#"{{"error": "e", "x": {}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1))
    };
    let deepest = ErrorRecord::from_json(nested(MAX_ERROR_DEPTH).as_bytes()).unwrap();
    let event = Event::Failed { key: "e2e/global".parse().unwrap(), error: deepest };
    let record = Record { at: Timestamp::UNIX_EPOCH, event };
    let line = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);

    assert_eq!(ErrorRecord::from_json(nested(MAX_ERROR_DEPTH + 1).as_bytes()), Err(ErrorRecordError::TooDeep));
    let flood = format!(r#"{{"error": "e", "x": {}"#, "[".repeat(1_000_000));
    assert!(ErrorRecord::from_json(flood.as_bytes()).is_err());
}

#[test]
fn the_error_of_a_worker_takes_little_memory() {
    let zeros = format!(r#"{{"error": "e", "pod": "p", "a": [{}0]}}"#, "0,".repeat(500_000));
    // Each empty object takes a hundred times its text, so a shorter document is too large as well.
    let objects = format!(r#"{{"error": "e", "pod": "p", "a": [{}0]}}"#, r#"{"":0},"#.repeat(2_000));
    for document in [zeros, objects] {
        let record = ErrorRecord::received(document.as_bytes()).unwrap();
        assert!(record.memory() <= ERROR_BYTES, "{}", record.memory());
        assert_eq!(record.error, "e");
        assert!(record.to_error_json().to_string().contains("left out: it is too large"), "{record:?}");
    }
    let record = ErrorRecord::received(br#"{"error": "e", "pod": {"name": "p"}}"#).unwrap();
    assert_eq!(record, ErrorRecord::new("e").with("pod", json!({"name": "p"})));
    // Small details stay next to a large one.
    let log = json!({"error": "e", "pod": "p", "log": "x".repeat(ERROR_BYTES - 100)});
    let record = ErrorRecord::received(log.to_string().as_bytes()).unwrap();
    assert_eq!(record.to_error_json(), json!({"error": "e", "pod": "p", "log": "left out: it is too large"}));
    // A message is cut, without a note in place of details that do not exist.
    let long = json!({"error": "é".repeat(500_000)});
    let record = ErrorRecord::received(long.to_string().as_bytes()).unwrap();
    assert!(record.details.is_empty() && record.error.ends_with("é…") && record.memory() <= ERROR_BYTES);
    let many: Map<String, Value> = (0..1_000).map(|n| (n.to_string(), Value::Null)).collect();
    let record = ErrorRecord { error: "e".to_owned(), details: many }.bounded(ERROR_BYTES);
    assert_eq!(record, ErrorRecord::new("e").with("details", "left out: it is too large"));
}

#[test]
fn large_documents_that_are_not_errors_are_rejected() {
    let padded = |start: &str| format!("{start}{}", " ".repeat(ERROR_BYTES));
    for document in ["[]", "{}", r#"{"error": 7}"#, r#"{"error": null}"#] {
        assert_eq!(ErrorRecord::received(padded(document).as_bytes()), Err(ErrorRecordError::NoError), "{document}");
    }
    for document in ["{", r#"{"error": "a"} {}"#, r#"{"error": "a", "x": [}"#] {
        let refused = ErrorRecord::received(padded(document).as_bytes());
        assert!(matches!(refused, Err(ErrorRecordError::Invalid(_))), "{document}: {refused:?}");
    }
}

#[test]
fn a_timeout_is_known_by_its_word() {
    assert!(ErrorRecord::new(crate::ledger::TIMEOUT_ERROR).is_timeout());
    assert!(!ErrorRecord::new("no such image").is_timeout());
}

#[test]
fn a_detail_called_error_gives_way_to_the_sentence() {
    assert_eq!(ErrorRecord::new("a").with("error", "b").to_error_json(), json!({"error": "a"}));
}
