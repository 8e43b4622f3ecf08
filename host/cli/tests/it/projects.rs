//! `plugin new`, `build` and `check`: from nothing to a module in use, with no toolchain but `cp`.

use std::fs;

use serde_json::Value;

use crate::bed::{Bed, Done};

/// A core module that reads nothing and emits nothing, as compilers of any language make it.
const CORE: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
    (func (export "plumbline:plugin/post-processor@0.1.0#process")
        (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
        (i32.const 16)))"#;

/// Creates a project whose build copies a core module.
fn project(bed: &Bed) {
    bed.plumbline(&["plugin", "new", "my-format", "--lang", "rust"]).expect(0);
    let core = wat::parse_str(CORE).unwrap();
    fs::write(bed.path("my-format/src/core.wasm"), core).unwrap();
    let manifest =
        "name: my-format\nlanguage: c\ncommand: [cp, src/core.wasm, build/core.wasm]\nartifact: build/core.wasm\n";
    bed.write("my-format/module.yaml", manifest);
}

#[test]
fn a_new_project_says_what_to_do_next_and_is_never_written_over() {
    let bed = Bed::new();
    let done = bed.plumbline(&["plugin", "new", "my-format", "--lang", "rust", "-o", "json"]).expect(0);
    let new: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((new["name"].as_str(), new["language"].as_str()), (Some("my-format"), Some("rust")));
    assert!(done.err.contains("  cd my-format\n  plumbline plugin build\n  plumbline plugin test\n"), "{}", done.err);
    let done = bed.plumbline(&["plugin", "new", "my-format", "--lang", "rust"]).expect(2);
    assert!(done.err.contains("error: `my-format` already exists"), "{}", done.err);
    let done = bed.plumbline(&["plugin", "new", "x", "--lang", "cobol"]).expect(2);
    assert!(done.err.contains("unknown language `cobol`"), "{}", done.err);
}

#[test]
fn a_judge_begins_with_its_world() {
    let bed = Bed::new();
    bed.plumbline(&["plugin", "new", "my-judge", "--lang", "c", "--world", "judge-module"]).expect(0);
    let checked = bed.plumbline(&["plugin", "check", "my-judge"]).expect(0);
    assert!(checked.out.ends_with("my-judge: 0 errors, 1 warning\n"), "{}", checked.out);
    // Nothing is built, so the case is broken and reports what is missing. That is not a failure of
    // the judge.
    let tested = bed.plumbline(&["plugin", "test", "my-judge"]).expect(1);
    assert!(
        tested.out.starts_with("broken   example") && tested.out.contains("plumbline plugin build"),
        "{}",
        tested.out
    );
    let done = bed.plumbline(&["plugin", "new", "x", "--lang", "c", "--world", "summarizer-module"]).expect(2);
    assert!(
        done.err.contains("the worlds with templates are `post-processor-module`, `judge-module` and `check-module`"),
        "{}",
        done.err
    );
}

#[test]
fn a_built_project_is_a_bundle_that_checks_and_reads() {
    let bed = Bed::new();
    project(&bed);
    let done = bed.plumbline(&["plugin", "check", "my-format"]).expect(0);
    assert!(done.out.contains("warning: my-format.wasm: the module is not built"), "{}", done.out);
    let done = bed.plumbline(&["plugin", "build", "my-format", "-o", "json"]).expect(0);
    let built: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((built["roles"][0].as_str(), built["generation"].as_str()), (Some("post-processor"), Some("0.1.0")));
    assert!(done.err.contains("$ cp src/core.wasm build/core.wasm"), "{}", done.err);
    let done = bed.plumbline(&["plugin", "check", "my-format", "-o", "json"]).expect(0);
    let checked: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&checked["findings"], &checked["modules"][0]["digest"]), (&Value::Array(Vec::new()), &built["digest"]));
    let done = bed.plumbline(&["plugin", "build", "my-format"]).expect(0);
    assert!(done.out.contains("contract   0.1.0") && done.out.contains("the same as before"), "{}", done.out);
    let case = bed.path("my-format/tests/example").display().to_string();
    // The module emits nothing, so the verdict is unknown.
    bed.plumbline(&["plugin", "process", &case, "--definition", "my-format"]).expect(5);
}

#[test]
fn a_stale_module_is_not_tested() {
    let bed = Bed::new();
    project(&bed);
    bed.plumbline(&["plugin", "build", "my-format"]).expect(0);
    let bless = ["plugin", "test", "my-format", "--bless"];
    bed.plumbline(&bless).expect(0);
    bed.plumbline(&["plugin", "test", "my-format"]).expect(0);
    // The build fails, and the module of the old sources remains.
    bed.write("my-format/src/core.wasm", "no module");
    bed.plumbline(&["plugin", "build", "my-format"]).expect(2);
    let done = bed.plumbline(&["plugin", "test", "my-format"]).expect(2);
    for part in ["the module is stale", "`src/core.wasm` has changed", "plumbline plugin build", "--allow-stale"] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
    bed.plumbline(&["plugin", "test", "my-format", "--allow-stale"]).expect(0);
}

/// Otherwise, Cargo compiles for half a minute before it reports the missing target.
#[test]
fn a_missing_target_is_reported_before_anything_is_compiled() {
    let bed = Bed::new();
    bed.plumbline(&["plugin", "new", "my-format", "--lang", "rust"]).expect(0);
    let script = |name: &str, text: &str| {
        let path = bed.write(name, text);
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        path
    };
    let mut command = bed.command(&["plugin", "build", "my-format"]);
    command.env("RUSTC", script("rustc", "#!/bin/sh\necho /nowhere/lib\n"));
    command.env("CARGO", script("cargo", "#!/bin/sh\ntouch compiled\n"));
    command.env("CARGO_HOME", bed.path("home")).env_remove("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS");
    let done = Done::of(command).expect(4);
    for part in ["wasm32-unknown-unknown", "/nowhere/lib", "rustup target add"] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
    assert!(!bed.path("my-format/compiled").exists());
}

#[test]
fn findings_and_usage_errors_have_different_exit_codes() {
    let bed = Bed::new();
    project(&bed);
    bed.plumbline(&["plugin", "build", "my-format"]).expect(0);
    bed.write("my-format/other.wasm", "rubbish");
    let done = bed.plumbline(&["plugin", "check", "my-format"]).expect(1);
    assert!(
        done.out.contains("error: other.wasm: failed to read module `other`: it is not WebAssembly"),
        "{}",
        done.out
    );
    assert!(done.out.ends_with("my-format: 1 error, 0 warnings\n"), "{}", done.out);
    bed.plumbline(&["plugin", "check", "nowhere"]).expect(2);
    let done = bed.plumbline(&["plugin", "build"]).expect(2);
    assert!(done.err.contains("is not a project: it has no `module.yaml`"), "{}", done.err);
}
