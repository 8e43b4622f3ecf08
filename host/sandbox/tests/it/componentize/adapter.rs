//! Tests for modules with WASI preview 1.

use plumbline_sandbox::componentize::{DEFAULT_WORLD, component};
use plumbline_sandbox::inspect;

use crate::componentize::support::{call, core};

const WRITE: &str =
    r#"(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))"#;

#[test]
fn a_module_for_preview_1_runs_and_its_output_is_log() {
    // An I/O vector at 32 that points to `text`, and standard output.
    let body = "
        (i32.store (i32.const 32) (i32.const 64)) (i32.store (i32.const 36) (i32.const 4))
        (if (call $write (i32.const 1) (i32.const 32) (i32.const 1) (i32.const 40)) (then unreachable))
        (call $emit_item)";
    let more = r#"(func (export "_initialize"))"#;
    let made = component(&core(WRITE, more, body), Some(DEFAULT_WORLD), None).unwrap();
    let called = call(&made);
    called.result.unwrap();
    assert_eq!(called.items.len(), 1);
    assert_eq!(called.log, ["stdout: text"]);
    let info = inspect(&made).unwrap();
    assert!(info.roles.post_processor);
    assert!(info.imports.iter().any(|import| import.starts_with("wasi:io/streams@0.2.")), "{:?}", info.imports);
    assert!(info.imports.iter().all(|import| !import.contains("preview1") && !import.contains("sockets")));
}

#[test]
fn a_module_without_wasi_imports_none_and_the_same_core_gives_the_same_component() {
    let core = core("", "", "(call $emit_item)");
    let made = component(&core, Some(DEFAULT_WORLD), None).unwrap();
    assert_eq!(made, component(&core, Some(DEFAULT_WORLD), None).unwrap());
    assert_eq!(call(&made).items.len(), 1);
    assert!(inspect(&made).unwrap().imports.iter().all(|import| !import.starts_with("wasi:")));
}

#[test]
fn a_component_is_taken_as_it_is() {
    let made = component(&core("", "", ""), Some(DEFAULT_WORLD), None).unwrap();
    assert_eq!(component(&made, None, None).unwrap(), made);
}

#[test]
fn a_projects_own_contract_serves_as_well() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in plumbline_sandbox::componentize::CONTRACT {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let core = core("", "", "(call $emit_item)");
    let own = component(&core, Some(DEFAULT_WORLD), Some(dir.path())).unwrap();
    assert_eq!(own, component(&core, Some(DEFAULT_WORLD), None).unwrap());
}
