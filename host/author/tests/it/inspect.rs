//! Tests of inspection.

use plumbline_author::inspect::{self, Kind};
use plumbline_bundle::Bundle;

use crate::bed::{Bed, handmade};

#[test]
fn a_built_in_module_says_what_it_is() {
    let path = crate::bed::repository().join("target/modules/junit.wasm");
    let module = inspect::module_file(&path).unwrap();
    assert_eq!((module.kind, module.roles.as_slice()), (Kind::Component, ["post-processor"].as_slice()));
    assert_eq!(module.generation.as_deref(), Some("0.1.0"));
    assert!(module.digest.starts_with("sha256:") && module.digest.len() == 71);
    assert_eq!(module.size, std::fs::metadata(&path).unwrap().len());
    let metadata = module.metadata.unwrap();
    assert_eq!(metadata.name, "junit");
    assert!(metadata.formats.contains(&"e2e".to_owned()));
    assert!(module.imports.contract.iter().all(|name| name.starts_with("plumbline:plugin/")));
    assert!(module.imports.wasi.is_empty() && module.imports.refused.is_empty());
    assert!(!module.sections.core_modules.is_empty());
    assert!(module.sections.custom.iter().any(|section| section.name == "plumbline:module" && section.bytes > 0));
}

#[test]
fn imports_that_no_host_provides_are_shown() {
    let wat = r#"(component
        (import "wasi:sockets/tcp@0.2.0" (instance))
        (import "wasi:cli/environment@0.2.0" (instance))
        (core module (func))
        (@custom "note" "twelve bytes"))"#;
    let module = inspect::module("x.wasm".as_ref(), &wat::parse_str(wat).unwrap()).unwrap();
    assert_eq!(module.imports.refused, ["wasi:sockets/tcp@0.2.0"]);
    assert_eq!(module.imports.wasi, ["wasi:cli/environment@0.2.0"]);
    assert!(module.roles.is_empty() && module.generation.is_none() && module.metadata.is_none());
    assert_eq!(module.sections.core_modules.len(), 1);
    assert_eq!(module.sections.custom[0].bytes, 12);
}

#[test]
fn a_core_module_is_one_on_its_way() {
    let wat = r#"(module (import "env" "now" (func)) (func (export "run")))"#;
    let module = inspect::module("x.wasm".as_ref(), &wat::parse_str(wat).unwrap()).unwrap();
    assert_eq!(module.kind, Kind::CoreModule);
    assert_eq!(
        (module.imports.core.as_slice(), module.exports.as_slice()),
        (["env now".to_owned()].as_slice(), ["run".to_owned()].as_slice())
    );
}

#[test]
fn bytes_of_strangers_are_errors_and_no_more() {
    let whole = handmade("");
    for length in (0..whole.len()).step_by(7) {
        let _ = inspect::module("x.wasm".as_ref(), &whole[..length]);
    }
    for at in (8..whole.len()).step_by(5) {
        let mut broken = whole.clone();
        broken[at] ^= 0xff;
        let _ = inspect::module("x.wasm".as_ref(), &broken);
    }
    let error = inspect::module("x.wasm".as_ref(), b"#!/bin/sh").unwrap_err();
    assert!(error.to_string().starts_with("`x.wasm` is not a module: "), "{error}");
    // Names are printed on a terminal.
    let wat = r#"(module (import "a\1b[2J" "b" (func)))"#;
    let module = inspect::module("x.wasm".as_ref(), &wat::parse_str(wat).unwrap()).unwrap();
    assert_eq!(module.imports.core, ["a\\u{1b}[2J b"]);
}

#[test]
fn a_bundle_is_its_definition_its_modules_and_its_files() {
    let bed = Bed::new("hand", "");
    bed.write("hand.wasm", handmade(""));
    bed.write("README.md", "hello");
    bed.write("secret.key", "not packed");
    let bundle = inspect::bundle(bed.dir.path()).unwrap();
    assert_eq!((bundle.definition.name.as_str(), bundle.definition.driver.as_str()), ("p", "Job"));
    assert_eq!(bundle.modules[0].file, "hand.wasm");
    let files: Vec<&str> = bundle.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(files, ["README.md", "hand.wasm", "plugin.yaml"]);

    let tar = bed.path("p.bundle.tar");
    let packed = Bundle::open(bed.dir.path()).unwrap().pack(std::fs::File::create(&tar).unwrap()).unwrap();
    bed.write("p.bundle.tar.sigstore.json", "{}");
    let unpacked = inspect::packed(&tar).unwrap();
    assert_eq!(unpacked.digest.as_deref(), Some(packed.digest.to_string().as_str()));
    assert_eq!(unpacked.signatures, Some(2));
    assert_eq!(unpacked.files, bundle.files);

    bed.write("broken.wasm", "no module");
    let bundle = inspect::bundle(bed.dir.path()).unwrap();
    assert_eq!((bundle.modules.len(), bundle.broken.len()), (1, 1));
    assert!(bundle.unfit.unwrap().contains("broken.wasm") && bundle.digest.is_none());
}
