//! Tests with handwritten components that no compiler would produce.

use plumbline_core::ModuleLimits;
use plumbline_sandbox::{Module, ModuleFailure, PluginInfo};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::support::{Called, call, file, one_second, sandbox};

const WORLD: &str = include_str!("../data/handmade.wit");
const TYPES: &str = include_str!("../../../../wit/types.wit");
const ROLES: &str = include_str!("../../../../wit/roles.wit");

/// Turns a core module in text form into a component for `version` of `plumbline:plugin`.
pub(crate) fn component(version: &str, wat: &str) -> Vec<u8> {
    let header = "package plumbline:plugin@0.1.0;";
    let interfaces = format!("package plumbline:plugin@{version};\n{}", [TYPES, ROLES].concat().replace(header, ""));
    let mut resolve = Resolve::default();
    resolve.push_str("plugin.wit", &interfaces).unwrap();
    let package = resolve.push_str("handmade.wit", &WORLD.replace("VERSION", version)).unwrap();
    let world = resolve.select_world(&[package], Some("post-processor")).unwrap();
    let mut core = wat::parse_str(wat).unwrap();
    embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8).unwrap();
    ComponentEncoder::default().validate(true).module(&core).unwrap().encode().unwrap()
}

/// Returns a core module whose `process` runs `body`. `more` contains further fields.
///
/// `text` is at offset 64, and an item named `item` at 512. Return values of host functions may be
/// placed at 1024. `$realloc` allocates memory from 4096 on.
pub(crate) fn core(imports: &str, more: &str, body: &str) -> String {
    core_with_realloc(imports, more, body, "")
}

pub(crate) fn core_with_realloc(imports: &str, more: &str, body: &str, on_realloc: &str) -> String {
    format!(
        r#"(module
            (import "plumbline:plugin/output@0.1.0" "emit" (func $emit (param i32 i32)))
            (import "plumbline:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))
            {imports}
            (memory (export "memory") 4)
            (global $next (mut i32) (i32.const 4096))
            (data (i32.const 64) "text")
            (data (i32.const 68) "item")
            (data (i32.const 516) "\44\00\00\00\04\00\00\00")
            (func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                {on_realloc}
                (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.set $next (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (func $emit_item (call $emit (i32.const 512) (i32.const 1)))
            {more}
            (func (export "plumbline:plugin/post-processor@0.1.0#process")
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                {body}
                (i32.const 2048)))"#
    )
}

pub(crate) fn load(wat: &str) -> Module {
    sandbox().load("handmade", &component("0.1.0", wat)).unwrap()
}

pub(crate) fn run(wat: &str, limits: &ModuleLimits) -> Called {
    call(
        &load(wat),
        &PluginInfo { name: "suspect".into(), ..PluginInfo::default() },
        vec![file("results/global/a", "content")],
        limits,
    )
}

fn plain(wat: &str) -> Called {
    run(wat, &ModuleLimits::default())
}

#[test]
fn a_component_by_hand_works() {
    let called = plain(&core("", "", "(call $emit_item) (call $log (i32.const 1) (i32.const 64) (i32.const 4))"));
    called.result.as_ref().unwrap();
    assert_eq!(called.items[0].name, "item");
    assert_eq!(called.log[0].1, "text");
    let info = load(&core("", "", "(call $emit_item)")).info().clone();
    assert_eq!(info.name.as_deref(), Some("handmade"), "what it does not say is filled in");
    assert_eq!((info.formats, info.default_files), (vec!["handmade".to_owned()], vec!["**".to_owned()]));
    assert!(info.imports.iter().all(|import| import.starts_with("plumbline:plugin/")), "{:?}", info.imports);
}

#[test]
fn tables_end_at_the_limit() {
    let table = "(table $t 1 funcref)";
    let body = "(loop $more (drop (table.grow $t (ref.null func) (i32.const 1000))) (br $more))";
    let called = plain(&core("", table, body));
    assert_eq!(called.failure(), "module `handmade` exceeded its limit `table-elements`: 100000 elements");
    let limits = ModuleLimits { table_elements: 5000, ..ModuleLimits::default() };
    let called = run(&core("", table, body), &limits);
    assert_eq!(called.failure(), "module `handmade` exceeded its limit `table-elements`: 5000 elements");
}

#[test]
fn memory_that_is_declared_counts_as_well() {
    let limits = ModuleLimits { memory: 128 << 10, ..ModuleLimits::default() };
    let called = run(&core("", "", ""), &limits);
    assert_eq!(called.failure(), "module `handmade` exceeded its limit `memory`: 128 KiB");
}

#[test]
fn a_start_function_is_held_to_the_limits() {
    let called = run(&core("", "(func $spin (loop $on (br $on))) (start $spin)", ""), &one_second());
    assert_eq!(called.failure(), "module `handmade` exceeded its limit `wall-seconds`: 1 second");
}

#[test]
fn calls_during_a_data_transfer_are_rejected() {
    let wat = core_with_realloc("", "", "", "(call $emit_item)");
    let called = plain(&wat);
    let expected = "module `handmade` crashed: it called the host while it received data, or after it returned";
    assert_eq!(called.failure(), expected);
    assert!(called.items.is_empty());
}

#[test]
fn emitting_after_the_end_is_not_possible() {
    let after =
        r#"(func (export "cabi_post_plumbline:plugin/post-processor@0.1.0#process") (param i32) (call $emit_item))"#;
    let called = plain(&core("", after, "(call $emit_item)"));
    let expected = "module `handmade` crashed: it called the host while it received data, or after it returned";
    assert_eq!(called.failure(), expected);
    assert_eq!(called.items.len(), 1, "the one from before");
}

#[test]
fn places_outside_of_memory_are_not_read() {
    let calls = [
        "(call $emit (i32.const 0x7ffffff0) (i32.const 1))",
        "(call $emit (i32.const 512) (i32.const 0x7fffffff))",
        "(i32.store (i32.const 520) (i32.const 0x7fffffff)) (call $emit_item)",
        "(call $emit (i32.const 513) (i32.const 1))",
        "(call $log (i32.const 1) (i32.const -1) (i32.const 4))",
    ];
    for body in calls {
        let called = plain(&core("", "", body));
        let failure = called.failure();
        assert!(failure.starts_with("module `handmade` "), "{body}: {failure}");
        assert!(!matches!(called.result, Err(ModuleFailure::Host(_) | ModuleFailure::Refused(_))), "{body}: {failure}");
        assert!(called.items.is_empty());
    }
}

#[test]
fn text_is_unicode() {
    let called = plain(&core("", "", "(i32.store8 (i32.const 69) (i32.const 0xff)) (call $emit_item)"));
    let failure = called.failure();
    assert!(failure.starts_with("module `handmade` violated the contract: text must be valid Unicode: "), "{failure}");
}

#[test]
fn variants_and_levels_that_do_not_exist_are_refused() {
    let called = plain(&core("", "", "(call $log (i32.const 9) (i32.const 64) (i32.const 4))"));
    assert!(called.failure().starts_with("module `handmade` crashed: "), "{}", called.failure());
    let called = plain(&core("", "", "(i32.store8 (i32.const 524) (i32.const 7)) (call $emit_item)"));
    assert!(called.failure().starts_with("module `handmade` crashed: "), "{}", called.failure());
}

#[test]
fn files_that_were_closed_cannot_be_read() {
    let imports = r#"
        (import "plumbline:plugin/input@0.1.0" "[resource-drop]file" (func $close (param i32)))
        (import "plumbline:plugin/input@0.1.0" "[method]file.read" (func $read (param i32 i32 i32)))"#;
    // The list of files is the tenth parameter, and its first element is a handle.
    let body =
        "(call $close (i32.load (local.get 9))) (call $read (i32.load (local.get 9)) (i32.const 10) (i32.const 1024))";
    let called = plain(&core(imports, "", body));
    assert!(called.failure().starts_with("module `handmade` crashed: "), "{}", called.failure());
}

#[test]
fn reading_by_hand_gives_the_content() {
    let imports = r#"(import "plumbline:plugin/input@0.1.0" "[method]file.read" (func $read (param i32 i32 i32)))"#;
    let body = "(call $read (i32.load (local.get 9)) (i32.const 4) (i32.const 1024))
        (call $log (i32.const 1) (i32.load (i32.const 1028)) (i32.load (i32.const 1032)))";
    assert_eq!(plain(&core(imports, "", body)).log[0].1, "cont");
}
