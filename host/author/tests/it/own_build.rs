//! Tests of builds with the author's own command: the steps that all languages share, and their
//! errors.

use std::fs;

use plumbline_author::{Language, Project, stale};
use plumbline_sandbox::inspect;

use crate::support::{built, core, project, write};

#[test]
fn a_core_module_becomes_a_module_that_says_what_it_is() {
    let dir = project(&core(""));
    let made = built(dir.path()).unwrap();
    assert_eq!((made.name.as_str(), made.language, made.changed), ("tally", Language::C, true));
    assert_eq!((made.roles.as_slice(), made.formats.as_slice()), (&["post-processor"][..], &["tally".to_owned()][..]));
    assert!(made.imports.iter().all(|import| !import.starts_with("wasi:")), "{:?}", made.imports);
    let bytes = fs::read(dir.path().join("tally.wasm")).unwrap();
    let info = inspect(&bytes).unwrap();
    assert_eq!(made.digest, format!("sha256:{}", info.digest));
    assert_eq!(info.default_files, ["**/*.tally"]);
    assert_eq!(made.generation.as_deref(), Some("0.1.0"));
    assert!(!built(dir.path()).unwrap().changed, "the same sources give the same module");
}

#[test]
fn a_module_for_preview_1_gets_the_adapter() {
    let more = r#"(import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32))) "#;
    let dir = project(&core(more));
    let made = built(dir.path()).unwrap();
    assert!(made.imports.iter().all(|import| !import.contains("preview1")), "{:?}", made.imports);
}

#[test]
fn an_invalid_module_is_rejected_and_the_old_one_is_kept() {
    let dir = project(&core(""));
    built(dir.path()).unwrap();
    let old = fs::read(dir.path().join("tally.wasm")).unwrap();
    let sockets = r#"(component
        (import "wasi:sockets/tcp@0.2.0" (instance))
        (component $c) (instance $i (instantiate $c))
        (export "plumbline:plugin/post-processor@0.1.0" (instance $i)))"#;
    let command = r#"(func (export "_start"))"#;
    let mut huge = core("");
    huge.resize((64 << 20) + 1, 0);
    let cases: [(&[u8], &str); 7] = [
        (b"", "the file is empty"),
        (b"#!/bin/sh", "it is not WebAssembly: it begins with 0x23212f62"),
        (
            &wat::parse_str("(module)").unwrap(),
            "it lacks exports that its world requires: plumbline:plugin/post-processor@0.1.0#process",
        ),
        (&wat::parse_str(sockets).unwrap(), "imports interfaces that modules cannot use: wasi:sockets/tcp@0.2.0"),
        (&core(r#"(import "env" "connect" (func))"#), "it imports functions that modules cannot use: `env` (connect)"),
        (&core(command), "it is a program"),
        (&huge, "is larger than 67108864 bytes"),
    ];
    for (made, part) in cases {
        write(dir.path(), &[("src/made.wasm", made)]);
        let error = built(dir.path()).unwrap_err();
        assert!(error.to_string().contains(part), "{part}: {error}");
        assert!(error.hint.is_some(), "{part}");
        assert_eq!(fs::read(dir.path().join("tally.wasm")).unwrap(), old);
    }
}

#[test]
fn a_component_for_another_world_is_named() {
    let dir = project(&core(""));
    let text = fs::read_to_string(dir.path().join("module.yaml")).unwrap();
    write(dir.path(), &[("module.yaml", format!("{text}world: summarizer-module\n").as_bytes())]);
    let error = built(dir.path()).unwrap_err().to_string();
    assert!(error.contains("plumbline:plugin/summarizer@0.1.0#summarize; it exports memory"), "{error}");
    write(dir.path(), &[("module.yaml", format!("{text}world: no-module\n").as_bytes())]);
    assert!(built(dir.path()).unwrap_err().to_string().contains("unknown world `no-module`"));
}

#[test]
fn a_build_that_fails_names_its_command() {
    let dir = project(&core(""));
    fs::remove_file(dir.path().join("src/made.wasm")).unwrap();
    let error = built(dir.path()).unwrap_err();
    assert!(error.what.starts_with("`cp src/made.wasm` failed: exit status: 1"), "{error}");
    let text = "name: tally\nlanguage: c\ncommand: ['true']\nartifact: build/none.wasm\n";
    write(dir.path(), &[("module.yaml", text.as_bytes())]);
    assert!(built(dir.path()).unwrap_err().what.contains("the build produced no `"));
    let text = "name: tally\nlanguage: c\ncommand: [no-such-program-anywhere]\nartifact: x\n";
    write(dir.path(), &[("module.yaml", text.as_bytes())]);
    assert!(built(dir.path()).unwrap_err().what.contains("failed to start `no-such-program-anywhere`"));
}

#[test]
fn a_rust_module_says_itself_what_it_is() {
    let manifest = "name: tally\nlanguage: rust\ncommand: [cp, src/made.wasm, build/m.wasm]\nartifact: build/m.wasm\n";
    let section = r#"(@custom "plumbline:module" "{\"name\":\"tally\",\"formats\":[\"tally\"]}")"#;
    let dir = project(&core(section));
    write(dir.path(), &[("module.yaml", manifest.as_bytes())]);
    built(dir.path()).unwrap();
    write(dir.path(), &[("module.yaml", format!("{manifest}formats: [other]\n").as_bytes())]);
    let error = built(dir.path()).unwrap_err();
    assert!(error.what.contains("`formats` in `module.yaml` differs from `plumbline_sdk::module!`"), "{error}");
    write(dir.path(), &[("module.yaml", manifest.as_bytes()), ("src/made.wasm", &core(""))]);
    assert!(built(dir.path()).unwrap_err().what.contains("has no metadata"));
}

#[test]
fn an_error_for_another_directory_says_what_it_looks_like() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("go.mod", b"module x\n")]);
    let error = Project::open(dir.path()).unwrap_err();
    assert!(error.what.contains("is not a project"), "{error}");
    assert!(error.hint.unwrap().contains("it looks like go (`go.mod`)"));
}

#[test]
fn a_module_is_stale_when_its_sources_are_not_those_it_was_built_from() {
    let dir = project(&core(""));
    let path = |name: &str| dir.path().join(name);
    let reason = || stale(&Project::open(dir.path()).unwrap()).unwrap();
    assert_eq!(reason(), None, "nothing is built");
    built(dir.path()).unwrap();
    assert_eq!(reason(), None);
    // A later modification time does not matter, nor do other files of the plugin.
    let made = fs::read(path("src/made.wasm")).unwrap();
    write(
        dir.path(),
        &[
            ("src/made.wasm", &made),
            ("README.md", b"x"),
            ("check.sh", b"x"),
            ("tally.bundle.tar", b"x"),
            ("tests/a/expected.yaml", b"x"),
            ("plugin.yaml", b"x"),
        ],
    );
    assert_eq!(reason(), None);
    // A failed build keeps the old module, which does not match these sources.
    write(dir.path(), &[("src/made.wasm", b"")]);
    built(dir.path()).unwrap_err();
    assert_eq!(reason().as_deref(), Some("`src/made.wasm` has changed since `tally.wasm` was built"));
    write(dir.path(), &[("src/made.wasm", &made)]);
    assert_eq!(reason(), None);
    write(dir.path(), &[("src/more.h", b"")]);
    assert_eq!(reason().as_deref(), Some("`src/more.h` has changed since `tally.wasm` was built"));
    // Without the record of the build, modification times decide.
    fs::remove_file(path("build/tally.sources.json")).unwrap();
    let module = fs::File::options().append(true).open(path("tally.wasm")).unwrap();
    module.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60)).unwrap();
    assert_eq!(reason(), None);
    module.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert!(reason().is_some_and(|reason| reason.ends_with("is newer than `tally.wasm`")), "{:?}", reason());
}

#[test]
fn a_pattern_that_is_not_a_glob_is_refused() {
    let dir = project(&core(""));
    let manifest = fs::read_to_string(dir.path().join("module.yaml")).unwrap().replace("**/*.tally", "[aaaa");
    write(dir.path(), &[("module.yaml", manifest.as_bytes())]);
    let error = built(dir.path()).unwrap_err().to_string();
    assert!(error.contains("`default-files`") && error.contains("[aaaa"), "{error}");
}

#[test]
fn typescript_with_type_errors_is_not_built() {
    let dir = tempfile::tempdir().unwrap();
    let tsc = b"#!/bin/sh\necho \"$@\" > tsc.called\nexit 2\n";
    let other = b"#!/bin/sh\ntouch bundled\n";
    let files: [(&str, &[u8]); 6] = [
        ("module.yaml", b"name: wrong\nlanguage: typescript\n"),
        (
            "tsconfig.json",
            b"{\"compilerOptions\": {\"strict\": true, \"noEmit\": true, \"types\": []}, \"include\": [\"src\"]}",
        ),
        ("src/index.ts", b"export const count: number = 'one';\n"),
        ("drafts/tsc", tsc),
        ("drafts/jco", other),
        ("drafts/esbuild", other),
    ];
    write(dir.path(), &files);
    // If this process created the tools, a process of another test could inherit the open files, and
    // executing them would fail with "Text file busy".
    let mut install = std::process::Command::new("install");
    install.current_dir(&dir).args(["-D", "-m", "755", "-t", "node_modules/.bin"]);
    assert!(install.args(["drafts/tsc", "drafts/jco", "drafts/esbuild"]).status().unwrap().success());
    let error = built(dir.path()).unwrap_err();
    assert!(error.what.contains("tsc --noEmit` failed"), "{error}");
    assert!(!dir.path().join("bundled").exists(), "nothing is bundled of sources with errors");
}
