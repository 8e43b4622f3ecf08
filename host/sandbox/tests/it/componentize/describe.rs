//! Tests for the metadata of modules.

use plumbline_core::Rights;
use plumbline_sandbox::componentize::{ComponentizeError, DEFAULT_WORLD, Metadata, component, set_metadata};
use plumbline_sandbox::inspect;
use serde_json::json;

use crate::componentize::support::{call, core};

fn metadata(name: &str) -> Metadata {
    Metadata { name: name.into(), formats: vec![name.into()], ..Metadata::default() }
}

#[test]
fn metadata_is_read_back_and_the_module_still_runs() {
    let made = component(&core("", "", "(call $emit_item)"), Some(DEFAULT_WORLD), None).unwrap();
    assert_eq!(inspect(&made).unwrap().name, None);
    let limits = json!({"memory": "1MiB"}).as_object().unwrap().clone();
    let described = Metadata {
        default_files: vec!["**/*.tap".into()],
        limits,
        schema: Some(json!({"type": "object"})),
        rights: Rights { files: vec!["/proc".into()], ..Rights::default() },
        ..metadata("tap")
    };
    let module = set_metadata(&made, &described).unwrap();
    let info = inspect(&module).unwrap();
    assert_eq!(info.name.as_deref(), Some("tap"));
    assert_eq!((info.formats, info.default_files), (vec!["tap".to_owned()], vec!["**/*.tap".to_owned()]));
    assert_eq!(info.limits.memory, Some(1 << 20));
    assert_eq!(info.schema, Some(json!({"type": "object"})));
    assert_eq!(info.rights, described.rights);
    assert_eq!(call(&module).items.len(), 1);
}

#[test]
fn only_earlier_metadata_is_replaced() {
    let made = component(&core("", "", ""), Some(DEFAULT_WORLD), None).unwrap();
    let once = set_metadata(&made, &metadata("a")).unwrap();
    assert!(once.starts_with(&made), "what was there stays byte for byte");
    let twice = set_metadata(&set_metadata(&made, &metadata("b")).unwrap(), &metadata("a")).unwrap();
    assert_eq!(twice, once);
}

#[test]
fn invalid_metadata_is_not_written() {
    let made = component(&core("", "", ""), Some(DEFAULT_WORLD), None).unwrap();
    let error = set_metadata(&made, &metadata("../x")).unwrap_err();
    assert!(error.to_string().contains("`name`: invalid name `../x`"), "{error}");
    let huge = Metadata { schema: Some(json!({"description": "x".repeat(1 << 20)})), ..metadata("a") };
    let root = Metadata { rights: Rights { files: vec!["/".into()], ..Rights::default() }, ..metadata("a") };
    let error = set_metadata(&made, &root).unwrap_err().to_string();
    assert!(error.contains("`rights`: `files`: expected the absolute path"), "{error}");
    assert!(set_metadata(&made, &huge).unwrap_err().to_string().contains("(limit: 65536)"));
    let core = core("", "", "");
    assert!(matches!(set_metadata(&core, &metadata("a")), Err(ComponentizeError::NotWasm(_))));
    for cut in [9, 20, made.len() / 2, made.len() - 1] {
        assert!(set_metadata(&made[..cut], &metadata("a")).is_err(), "cut at {cut}");
    }
}
