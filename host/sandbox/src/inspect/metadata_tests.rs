use super::*;

fn reason(section: &str) -> String {
    Metadata::parse(section.as_bytes()).unwrap_err().to_string()
}

#[test]
fn reads_every_key_and_ignores_others() {
    let section = r#"{"name":"junit","formats":["junit","e2e"],"default-files":["**/*.xml"],"limits":{"memory":"1KiB","new":1},
        "detect":[{"title":"JUnit","xml-root":["testsuites"],"later":1}],"schema":{"type":"object"},"later":true}"#;
    let metadata = Metadata::parse(section.as_bytes()).unwrap();
    assert_eq!(metadata.name, "junit");
    assert_eq!(metadata.formats, ["junit", "e2e"]);
    assert_eq!(metadata.default_files, ["**/*.xml"]);
    let rule = DetectRule { title: "JUnit".into(), xml_root: vec!["testsuites".into()], ..DetectRule::default() };
    assert_eq!(metadata.detect, [rule]);
    assert_eq!(metadata.limits, LimitsRequest { memory: Some(1024), ..LimitsRequest::default() });
    assert_eq!(metadata.schema, Some(serde_json::json!({"type": "object"})));
}

#[test]
fn malformed_sections_are_named_with_their_reason() {
    assert!(reason("").starts_with("its section `plumbline:module` is malformed: EOF"));
    assert!(reason("{}").contains("missing field `name`"));
    assert!(reason(r#"{"name":""}"#).contains("`name` must hold 1 to 253 bytes"));
    assert!(reason(r#"{"name":"../x"}"#).contains("`name`: invalid name `../x`"));
    assert!(reason(r#"{"name":"a\u0000b"}"#).contains("without control characters"));
    assert!(reason(r#"{"name":"a","schema":3}"#).contains("`schema` is not a JSON Schema"));
    assert!(reason(r#"{"name":"a","limits":{"memory":0}}"#).contains("memory"));
    let glob = reason(r#"{"name":"a","default-files":["[aaaa"]}"#);
    assert!(glob.contains("`default-files`: error parsing glob '[aaaa'"), "{glob}");
    assert!(reason(r#"{"name":"a"}{"name":"b"}"#).contains("trailing characters"));
    assert!(reason(&format!(r#"{{"name":"a","x":"{}"}}"#, "y".repeat(MAX_SECTION))).contains("(limit: 65536)"));
    assert!(reason(r#"{"name":"a","detect":[{"files":["*.xml"]}]}"#).contains("has no condition on the content"));
    assert!(reason(r#"{"name":"a","detect":[{"prefix":[""]}]}"#).contains("`detect.prefix` must hold 1 to 253 bytes"));
    let rules = vec![r#"{"prefix":["x"]}"#; 17].join(",");
    assert!(reason(&format!(r#"{{"name":"a","detect":[{rules}]}}"#)).contains("`detect` has 17 rules (limit: 16)"));
    let many = vec![r#""f""#; 65].join(",");
    assert!(reason(&format!(r#"{{"name":"a","formats":[{many}]}}"#)).contains("`formats` has 65 entries (limit: 64)"));
}
