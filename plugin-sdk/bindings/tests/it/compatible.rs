//! Tests of compatibility with frozen versions.

use std::fs;
use std::path::Path;

use plumbline_bindings::{Contract, differences};
use sha2::{Digest, Sha256};

use crate::root;

/// The SHA-256 of the files of the first version, concatenated in the order of their names. It must
/// never change, because modules in use were built against these files.
const SINCE_V0_1_0: &str = "09ff7c73c09643af8c5b75c184560dd9dc1068f49fe0de51aff42e364c582da1";

/// Returns the texts of the frozen version.
fn frozen() -> Vec<(String, String)> {
    ["roles.wit", "types.wit"]
        .map(|name| (name.to_owned(), fs::read_to_string(root().join("wit/since_v0.1.0").join(name)).unwrap()))
        .to_vec()
}

/// Returns the differences to a contract in which `from` is replaced by `to`.
fn said(from: &str, to: &str) -> Vec<String> {
    let before = frozen();
    assert!(before.iter().any(|(_, text)| text.contains(from)), "`{from}` is not there");
    let after: Vec<_> = before.iter().map(|(name, text)| (name.clone(), text.replace(from, to))).collect();
    let parse = |texts: &[(String, String)]| Contract::parse(Path::new("test"), texts).unwrap();
    differences(&parse(&before), &parse(&after))
}

#[test]
fn the_first_generation_is_as_it_was() {
    let dir = root().join("wit/since_v0.1.0");
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wit"));
    files.sort();
    let mut digest = Sha256::new();
    for file in files {
        digest.update(fs::read_to_string(file).unwrap().replace("\r\n", "\n"));
    }
    assert_eq!(hex::encode(digest.finalize()), SINCE_V0_1_0, "what is frozen never changes: put new things into wit/");
}

#[test]
fn the_contract_still_is_what_modules_were_built_against() {
    let frozen = Contract::read(&root().join("wit/since_v0.1.0")).unwrap();
    let current = Contract::read(&root().join("wit")).unwrap();
    assert_eq!(differences(&frozen, &current), [""; 0]);
}

#[test]
fn additions_are_allowed() {
    // A function and a type in an imported interface, a new interface, a new world, and a type in a
    // role.
    assert_eq!(said("interface log {", "interface log { flush: func(); record extra { n: u32 }"), [""; 0]);
    assert_eq!(said("interface log {", "interface clock { now: func() -> u64; }\ninterface log {"), [""; 0]);
    assert_eq!(said("size: func() -> u64;", "size: func() -> u64; rewind: func();"), [""; 0]);
    let world =
        "world judge-module { import log; export judge; }\ninterface judge { judge: func(); }\nworld full-module {";
    assert_eq!(said("world full-module {", world), [""; 0]);
    let imports = "world summarizer-module {\n  import input;";
    assert_eq!(said("world summarizer-module {", imports), [""; 0]);
    assert_eq!(said("record taint {", "record reason { text: string }\n  record taint {"), [""; 0]);
    assert_eq!(said("plumbline:plugin@0.1.0", "plumbline:plugin@0.1.1"), [""; 0]);
}

#[test]
fn incompatible_changes_are_reported() {
    let cases = [
        (
            "name: string,\n    labels",
            "name: list<u8>,\n    labels",
            "`expectations.node` was `record { name: string, ",
        ),
        ("depth: u32,", "depth: u32, weight: u32,", "`types.item` was `record { depth: u32, name: string, "),
        (
            "    unknown,\n",
            "    unknown,\n    flaky,\n",
            "`types.status` was `variant { passed, failed, skipped, timeout, unknown, ",
        ),
        (
            "enum level { debug, info,",
            "enum level { info, debug,",
            "`log.level` was `enum { debug, info, warning, error }`, ",
        ),
        ("write: func(level: level, message: string);", "", "`log.write` is gone"),
        (
            "size: func() -> u64;",
            "size: func() -> u32;",
            "`input.[method]file.size` was `func() -> u64`, and is `func() -> u32`",
        ),
        (
            "process: func(plugin: plugin-info, files: list<file>)",
            "process: func(files: list<file>)",
            "`post-processor.process` was `func(plugin: types.plugin-info, ",
        ),
        (
            "emit: func(items: list<item>);",
            "emit: func(items: list<item>) -> bool;",
            "`output.emit` was `func(items: list<types.item>)`, and is ",
        ),
        ("process: func(", "close: func();\n  process: func(", "`post-processor.close` is new in a role"),
        (
            "  export post-processor;\n  export expectations;\n}",
            "  export post-processor;\n}",
            "the world `full-module` no longer exports `expectations`",
        ),
        (
            "world summarizer-module {\n",
            "world summarizer-module {\n  export expectations;\n",
            "the world `summarizer-module` asks for `expectations` too",
        ),
        ("world every-role-module", "world all-roles-module", "the world `every-role-module` is gone"),
        (
            "package plumbline:plugin@",
            "package plumbline:module@",
            "the package was `plumbline:plugin@0.1.0`, and is `plumbline:module@0.1.0`",
        ),
    ];
    for (from, to, expected) in cases {
        let said = said(from, to);
        assert!(said.iter().any(|sentence| sentence.starts_with(expected)), "{from} → {to}: {said:#?}");
    }
}
