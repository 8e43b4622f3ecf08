//! Tests for errors of turning modules into components.

use plumbline_sandbox::componentize::{ComponentizeError, DEFAULT_WORLD, component};

use crate::componentize::support::core;

fn refused(wasm: &[u8], world: &str) -> (String, String) {
    let error = component(wasm, Some(world), None).unwrap_err();
    (error.to_string(), error.hint().unwrap_or_default().to_owned())
}

#[test]
fn rubbish_is_named() {
    assert!(refused(b"", DEFAULT_WORLD).0.contains("the file is empty"));
    assert!(refused(b"(module)", DEFAULT_WORLD).0.contains("it begins with 0x286d6f64756c6529"));
    assert!(refused(b"\0asm\x01", DEFAULT_WORLD).0.contains("it ends after 5 bytes"));
    let whole = core("", "", "");
    assert!(refused(&whole[..whole.len() - 3], DEFAULT_WORLD).0.starts_with("it is not valid WebAssembly: at byte"));
    let mut huge = whole;
    huge.resize((64 << 20) + 1, 0);
    assert!(refused(&huge, DEFAULT_WORLD).0.contains("it is too large: 67108865 bytes (limit: 67108864)"));
}

#[test]
fn an_error_for_a_module_of_another_world_lists_missing_and_present_exports() {
    let (message, hint) = refused(&core("", "", ""), "expectations-module");
    assert!(
        message
            .contains("it lacks exports that its world requires: plumbline:plugin/expectations@0.1.0#expected-results"),
        "{message}"
    );
    assert!(
        message.contains("it exports memory, cabi_realloc, plumbline:plugin/post-processor@0.1.0#process"),
        "{message}"
    );
    assert!(hint.contains("bindings"), "{hint}");
    let (message, hint) = refused(&core("", "", ""), "no-module");
    assert!(message.contains("unknown world `no-module` (worlds: post-processor-module, "), "{message}");
    assert!(hint.contains("module.yaml"));
}

#[test]
fn unknown_imports_are_listed() {
    let imports = r#"(import "env" "socket" (func (param i32))) (import "env" "connect" (func))"#;
    let (message, hint) = refused(&core(imports, "", ""), DEFAULT_WORLD);
    assert_eq!(message, "it imports functions that modules cannot use: `env` (socket, connect)");
    assert!(hint.contains("wasi_snapshot_preview1"));
}

#[test]
fn a_program_is_not_a_module() {
    let (message, hint) = refused(&core("", r#"(func (export "_start"))"#, ""), DEFAULT_WORLD);
    assert!(message.contains("it is a program"), "{message}");
    assert!(hint.contains("-buildmode=c-shared") && hint.contains("reactor"));
}

#[test]
fn without_types_and_world_nothing_can_be_guessed() {
    assert_eq!(component(&core("", "", ""), None, None), Err(ComponentizeError::NoTypes));
}
