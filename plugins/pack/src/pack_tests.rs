use plumbline_sandbox::SandboxConfig;
use wit_component::{StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::*;

/// Returns the core module that a compiler produces for a module `name` without imports.
fn core(name: &str) -> Vec<u8> {
    let wat = format!(
        r#"(module
            (@custom "plumbline:module" "{{\"name\":\"{name}\"}}")
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "plumbline:plugin/post-processor@0.1.0#process")
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                (i32.const 16)))"#
    );
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir("../../wit").unwrap();
    let world = resolve.select_world(&[package], Some("post-processor-module")).unwrap();
    let mut core = wat::parse_str(wat).unwrap();
    embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8).unwrap();
    core
}

/// Packs core modules with these names and contents into a directory `out`.
fn packed(cores: &[(&str, &[u8])], compile: bool) -> (tempfile::TempDir, Result<(), PackError>) {
    let dir = tempfile::tempdir().unwrap();
    let write = |(name, content): &(&str, &[u8])| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    };
    let args = Args { out: dir.path().join("out"), compile, cores: cores.iter().map(write).collect() };
    let result = pack(&args);
    (dir, result)
}

fn files(dir: &tempfile::TempDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path().join("out")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_core_module_becomes_a_component_with_code_that_fits_this_machine() {
    let core = core("my-format");
    let (dir, result) = packed(&[("plumbline_module_my_format.wasm", &core)], true);
    result.unwrap();
    assert_eq!(files(&dir), ["my-format.cwasm", "my-format.wasm"]);
    let read = |file: &str| fs::read(dir.path().join("out").join(file)).unwrap();
    let (component, code) = (read("my-format.wasm"), read("my-format.cwasm"));
    assert_eq!(inspect(&component).unwrap().name.as_deref(), Some("my-format"));
    let sandbox = Sandbox::new(SandboxConfig { max_instances: 1, ..SandboxConfig::default() }).unwrap();
    sandbox.load_precompiled("my-format", &component, Box::leak(code.clone().into_boxed_slice())).unwrap();
    assert_eq!(sandbox.stats().compiled, 0);

    let (again, result) = packed(&[("plumbline_module_my_format.wasm", &core)], true);
    result.unwrap();
    assert!(fs::read(again.path().join("out/my-format.wasm")).unwrap() == component);
    assert!(fs::read(again.path().join("out/my-format.cwasm")).unwrap() == code);
}

#[test]
fn code_is_left_out_when_it_is_not_wanted() {
    let (dir, result) = packed(&[("a.wasm", &core("a"))], false);
    result.unwrap();
    assert_eq!(files(&dir), ["a.wasm"]);
}

#[test]
fn a_module_that_cannot_be_packed_is_reported_and_leaves_nothing() {
    let message = |file: &str, content: &[u8]| {
        let (dir, result) = packed(&[(file, content)], true);
        assert!(files(&dir).is_empty());
        let error = result.unwrap_err();
        (error.to_string(), error.hint())
    };
    let (text, hint) = message("a.wasm", &core("b"));
    assert!(text.ends_with("a.wasm` has the name `b`, but its file has the name `a`"), "{text}");
    assert!(hint.unwrap().contains("plumbline_sdk::module!"));
    let (text, hint) = message("a.wasm", b"rubbish");
    assert!(text.starts_with("failed to make a component of `") && text.contains("a.wasm`: "), "{text}");
    assert!(hint.unwrap().contains("cdylib"));
    let (text, _) = message("a.wasm", &wat::parse_str("(module)").unwrap());
    assert!(text.ends_with("the section `plumbline:module` is missing"), "{text}");
}

#[test]
fn two_that_would_become_one_are_refused() {
    let core = core("a");
    let (_dir, result) = packed(&[("plumbline_module_a.wasm", &core), ("plumbline_guest_a.wasm", &core)], true);
    let text = result.unwrap_err().to_string();
    assert!(text.ends_with("would both become `a`"), "{text}");
}

#[test]
fn files_that_are_not_there_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let args = Args { out: dir.path().join("out"), compile: true, cores: vec![dir.path().join("none.wasm")] };
    let text = pack(&args).unwrap_err().to_string();
    assert!(text.starts_with("failed to read `") && text.contains("none.wasm"), "{text}");
}

#[test]
fn names_are_those_of_packages_without_their_prefix() {
    let name = |file: &str| module_name(Path::new(file));
    assert_eq!(name("x/plumbline_module_junit.wasm").unwrap(), "junit");
    assert_eq!(name("plumbline_guest_misbehave.wasm").unwrap(), "misbehave");
    assert_eq!(name("my_format.wasm").unwrap(), "my-format");
    assert_eq!(name("plumbline_module_.wasm"), None);
    assert_eq!(name("/"), None);
}
