//! Tests for components that are rejected before any code of them runs.

use plumbline_sandbox::{InspectError, LoadError, inspect};
use wasmparser::BinaryReader;

use crate::handmade::{component, core};
use crate::support::{guest_file, sandbox, small_sandbox};

fn refused(wasm: &[u8]) -> LoadError {
    sandbox().load("suspect", wasm).unwrap_err()
}

/// Parses a component with these fields.
fn wat(fields: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {fields})")).unwrap()
}

const ROLE: &str = r#"(instance $role) (export "plumbline:plugin/post-processor@0.1.0" (instance $role))"#;

#[test]
fn an_invalid_component_is_rejected_with_the_reason() {
    assert_eq!(refused(b"").to_string(), "failed to read module `suspect`: the file is empty");
    let script = refused(b"#!/bin/sh\necho hello\n");
    assert_eq!(
        script.to_string(),
        "failed to read module `suspect`: it is not WebAssembly: it begins with 0x23212f62696e2f73"
    );
    let core = refused(&wat::parse_str("(module)").unwrap());
    assert_eq!(core.to_string(), "failed to read module `suspect`: it is a core WebAssembly module, not a component");
    assert_eq!(core.hint(), Some("make it a component: `plumbline plugin build` in its project"));
}

/// Returns the offsets at which the sections of a component end.
fn section_ends(wasm: &[u8]) -> Vec<usize> {
    let header = 8;
    let mut reader = BinaryReader::new(wasm.get(header..).unwrap(), header);
    let mut ends = vec![header];
    while !reader.eof() {
        reader.read_u8().unwrap();
        let size = reader.read_var_u32().unwrap();
        reader.read_bytes(size as usize).unwrap();
        ends.push(reader.original_position());
    }
    ends
}

#[test]
fn components_that_are_cut_off_or_broken_never_load() {
    let whole = guest_file("misbehave.wasm");
    let ends = section_ends(&whole);
    for length in (0..whole.len()).step_by(whole.len() / 50).filter(|length| !ends.contains(length)) {
        assert!(matches!(refused(&whole[..length]), LoadError::Inspect { .. } | LoadError::NoRole(_)), "{length}");
    }
    // Cut between two sections, the file is a component again, with fewer exports or without its
    // last custom sections.
    let all = inspect(&whole).unwrap().exports;
    for length in ends {
        match sandbox().load("suspect", &whole[..length]) {
            Ok(module) => assert!(module.info().exports.iter().all(|export| all.contains(export)), "{length}"),
            Err(error) => assert!(error.to_string().contains("`suspect`"), "{error}"),
        }
    }
    for at in (8..whole.len()).step_by(whole.len() / 20) {
        let mut broken = whole.clone();
        broken[at] ^= 0xff;
        // Some bytes carry no structure. It is enough that nothing panics and every error has the
        // name.
        if let Err(error) = sandbox().load("suspect", &broken) {
            assert!(error.to_string().contains("`suspect`"), "{error}");
        }
    }
}

#[test]
fn size_is_looked_at_before_anything_else() {
    // A valid component with a custom section of 200 MB.
    let size: u32 = 200_000_000;
    let mut wasm = b"\0asm\x0d\0\x01\0\0".to_vec();
    let mut rest = size;
    while rest >= 0x80 {
        wasm.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    wasm.push(rest as u8);
    let head = wasm.len();
    wasm.push(0);
    wasm.resize(head + size as usize, 0);
    assert!(inspect(&wasm).is_ok(), "nothing else is wrong with it");
    let error = refused(&wasm);
    assert!(matches!(error, LoadError::TooLarge { limit, .. } if limit == 64 << 20), "{error}");
    assert_eq!(error.to_string(), format!("module `suspect` is too large: {} bytes (limit: 67108864)", wasm.len()));
}

#[test]
fn network_and_unknown_imports_are_refused_with_the_whole_list() {
    let error = refused(&wat(&format!(
        r#"(import "wasi:sockets/tcp@0.2.0" (instance))
           (import "wasi:cli/environment@0.2.0" (instance))
           (import "wasi:http/outgoing-handler@0.2.0" (instance))
           (import "plumbline:plugin/log@0.1.0" (instance))
           (import "acme:secrets/store@1.0.0" (instance))
           (import "wasi:cli/stdout@0.2.0" (func))
           {ROLE}"#
    )));
    let expected = [
        "wasi:sockets/tcp@0.2.0",
        "wasi:http/outgoing-handler@0.2.0",
        "acme:secrets/store@1.0.0",
        "wasi:cli/stdout@0.2.0",
    ];
    assert!(matches!(&error, LoadError::Refused { imports, .. } if *imports == expected), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("module `suspect` imports interfaces that modules cannot use: wasi:sockets/tcp@0.2.0, ")
    );
    assert!(error.hint().unwrap().contains("without network"));
}

#[test]
fn a_check_cannot_import_sockets_or_web_requests_of_wasi() {
    let role = ROLE.replace("post-processor", "check");
    let error = refused(&wat(&format!(
        r#"(import "wasi:sockets/tcp@0.2.0" (instance))
           (import "wasi:sockets/udp@0.2.0" (instance))
           (import "wasi:filesystem/preopens@0.2.0" (instance))
           (import "wasi:http/outgoing-handler@0.2.0" (instance))
           {role}"#
    )));
    let expected = ["wasi:sockets/tcp@0.2.0", "wasi:sockets/udp@0.2.0", "wasi:http/outgoing-handler@0.2.0"];
    assert!(matches!(&error, LoadError::Refused { imports, .. } if *imports == expected), "{error}");
}

#[test]
fn other_generations_get_a_sentence_of_their_own() {
    let of = |version: &str| {
        let wat = core("", "", "(call $emit_item)").replace("@0.1.0", &format!("@{version}"));
        sandbox().load("suspect", &component(version, &wat))
    };
    assert!(of("0.1.9").is_ok());
    let newer = of("0.2.0").unwrap_err();
    assert_eq!(
        newer.to_string(),
        "module `suspect` is newer than this host: it uses `plumbline:plugin@0.2.0`, this host `0.1.0`"
    );
    assert_eq!(newer.hint(), Some("update plumbline, or build the module against the older interface"));
    let older = of("0.0.9").unwrap_err();
    assert!(matches!(older, LoadError::Generation { newer: false, .. }), "{older}");
}

#[test]
fn a_newer_module_with_a_new_interface_is_newer_not_forbidden() {
    let error = refused(&wat(r#"(import "plumbline:plugin/charts@0.3.0" (instance))
           (instance $role) (export "plumbline:plugin/post-processor@0.3.0" (instance $role))"#));
    assert!(matches!(error, LoadError::Generation { newer: true, .. }), "{error}");
}

#[test]
fn without_a_role_it_is_of_no_use() {
    let error = refused(&wat(r#"(instance $i) (export "acme:other/thing@1.0.0" (instance $i))"#));
    assert!(matches!(error, LoadError::NoRole(_)), "{error}");
    // The name alone is not enough: the functions of the role are checked.
    let error = refused(&wat(ROLE));
    assert!(matches!(error, LoadError::Link { .. }), "{error}");
}

#[test]
fn components_that_unfold_are_counted_before_they_are_compiled() {
    // Ten levels, each with twice the one inside: 1,024 instances of one core module.
    let mut inner = "(core module $m (memory 1)) (core instance (instantiate $m))".to_owned();
    for _ in 0..10 {
        inner = format!("(component $c {inner}) (instance (instantiate $c)) (instance (instantiate $c))");
    }
    let error = refused(&wat(&format!("{inner} {ROLE}")));
    assert!(matches!(error, LoadError::TooMany { what: "core instances", count: 1024, limit: 256, .. }), "{error}");
}

/// A component without core modules, and without nested components: 1.7 KB that took 9.4 GiB to
/// compile.
#[test]
fn component_instances_are_counted_before_they_are_compiled() {
    let mut levels = "(component $c0)".to_owned();
    for n in 1..=26 {
        let inner = n - 1;
        levels += &format!("(component $c{n} (instance (instantiate $c{inner})) (instance (instantiate $c{inner})))");
    }
    let error = refused(&wat(&format!("{levels} (instance (instantiate $c26)) {ROLE}")));
    let count = (1 << 27) - 1;
    assert!(
        matches!(error, LoadError::TooMany { what: "component instances", count: n, limit: 1000, .. } if n == count),
        "{error}"
    );
}

#[test]
fn memory_and_tables_that_no_slot_holds_are_refused() {
    let large = |part: &str| refused(&wat(&format!("(core module $m {part}) (core instance (instantiate $m)) {ROLE}")));
    assert!(matches!(large("(memory 16385)"), LoadError::TooMany { what: "bytes of memory", .. }));
    assert!(matches!(large("(table 250001 funcref)"), LoadError::TooMany { what: "table elements", .. }));
    let tables = "(table 1 funcref)".repeat(17);
    assert!(matches!(large(&tables), LoadError::TooMany { what: "tables", count: 17, limit: 16, .. }));
}

#[test]
fn features_that_are_off_do_not_compile() {
    for part in ["(memory i64 1)", "(func (result i32) (i32.const 1) (i32.const 2))", "(memory 1) (memory 1)"] {
        let wasm = wat::parse_str(format!("(component (core module {part}) {ROLE})")).unwrap();
        let error = small_sandbox(1).load("suspect", &wasm).unwrap_err();
        assert!(matches!(error, LoadError::Compile { .. }), "{part}: {error}");
    }
}

#[test]
fn a_component_without_metadata_says_no_name() {
    let wasm = component("0.1.0", &core("", "", ""));
    assert_eq!(inspect(&wasm).unwrap().name, None);
    assert_eq!(inspect(&guest_file("misbehave.wasm")).unwrap().name.as_deref(), Some("misbehave"));
}

#[test]
fn broken_metadata_is_named() {
    let mut wasm = component("0.1.0", &core("", "", ""));
    let (name, data) = ("plumbline:module", "{");
    wasm.extend([0, (1 + name.len() + data.len()) as u8, name.len() as u8]);
    wasm.extend([name, data].concat().bytes());
    let error = refused(&wasm);
    assert!(matches!(&error, LoadError::Inspect { source: InspectError::Metadata(_), .. }), "{error}");
}
