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
