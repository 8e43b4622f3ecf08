//! Tests of valid and invalid lock files.

use std::fs;

use plumbline_bundle::{Bundle, Digest, Lock, LockError, Subject};

use crate::make::{Bed, component};

fn alone(name: &'static str, text: &str) -> Subject<'static> {
    Subject { name, origin: "./alone.yaml", definition: Digest::of(text.as_bytes()), bundle: None }
}

fn bundled<'a>(bundle: &'a Bundle) -> Subject<'a> {
    Subject {
        name: "sample",
        origin: "oci://r.example/sample:1",
        definition: bundle.definition_digest,
        bundle: Some(bundle),
    }
}

#[test]
fn a_lock_is_sorted_and_read_again() {
    let bed = Bed::new();
    let bundle = Bundle::open(bed.sample("b")).unwrap();
    let lock = Lock::of(&[alone("smoke", "a"), bundled(&bundle)]).unwrap();
    let text = lock.to_yaml().unwrap();
    let module = Digest::of(&component());
    let expect = format!(
        "# The exact versions of plugins. Written by `plumbline plugin lock`; keep it under version control.\n\
         version: 1\nplugins:\n\
         - name: sample\n  source: oci://r.example/sample:1\n  bundle: {}\n  modules:\n  - file: sample.wasm\n    digest: {module}\n\
         - name: smoke\n  source: ./alone.yaml\n  definition: {}\n",
        bundle.digest(),
        Digest::of(b"a"),
    );
    assert_eq!(text, expect);
    assert_eq!(Lock::parse(&text).unwrap(), lock);
    assert_eq!(lock.plugins().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>(), ["sample", "smoke"]);
    assert!(matches!(Lock::of(&[alone("a", "a"), alone("a", "b")]), Err(LockError::Twice(_))));
}

#[test]
fn locked_plugins_pass_and_others_are_reported() {
    let bed = Bed::new();
    let dir = bed.sample("b");
    let bundle = Bundle::open(&dir).unwrap();
    let lock = Lock::of(&[alone("smoke", "a"), bundled(&bundle)]).unwrap();
    lock.check(&alone("smoke", "a")).unwrap();
    lock.check(&Subject { origin: "elsewhere", ..bundled(&bundle) }).unwrap();

    let error_of = |subject: &Subject<'_>| lock.check(subject).unwrap_err().to_string();
    assert_eq!(
        error_of(&alone("other", "a")),
        "plugin `other` (`./alone.yaml`) is not in the lock file, which has `sample`, `smoke`"
    );
    let another = error_of(&alone("smoke", "b"));
    assert!(another.contains("is not the locked one") && another.contains(&Digest::of(b"b").to_string()), "{another}");
    assert!(
        error_of(&alone("sample", "a")).contains("is locked as a bundle, but `./alone.yaml` is a definition without")
    );
    assert!(
        error_of(&Subject { name: "smoke", ..bundled(&bundle) }).contains("is locked as a definition without a bundle")
    );

    bed.write("b/README.md", "Another.\n");
    let text = Bundle::open(&dir).unwrap();
    assert!(error_of(&bundled(&text)).contains("its modules are the locked ones"));
    bed.write("b/sample.wasm", wat::parse_str("(component (core module))").unwrap());
    bed.write("b/new.wasm", component());
    let changed = Bundle::open(&dir).unwrap();
    let sentence = error_of(&bundled(&changed));
    assert!(
        sentence.contains("module `sample.wasm` has sha256:") && sentence.contains("module `new.wasm` is new"),
        "{sentence}"
    );
    fs::remove_file(dir.join("sample.wasm")).unwrap();
    let gone = Bundle::open(&dir).unwrap();
    assert!(error_of(&bundled(&gone)).contains("module `sample.wasm` is missing"));
}

#[test]
fn an_invalid_lock_file_is_rejected_with_the_reason() {
    let error_of = |text: &str| Lock::parse(text).unwrap_err().to_string();
    assert!(error_of("").contains("not a lock file"), "{}", error_of(""));
    assert!(error_of("version: 2\nthings: []\n").contains("unsupported version 2: this program reads version 1"));
    assert!(error_of("version: 1\nplugins: []\nmore: x\n").contains("more"));
    let digest = Digest::of(b"");
    assert!(error_of("version: 1\nplugins: [{name: a, source: b}]").contains("one digest"));
    assert!(
        error_of(&format!("version: 1\nplugins: [{{name: a, source: b, bundle: '{digest}', definition: '{digest}'}}]"))
            .contains("one digest")
    );
    assert!(error_of("version: 1\nplugins: [{name: a, source: b, bundle: 'sha1:00'}]").contains("invalid digest"));
    let one = format!("{{name: a, source: b, definition: '{digest}'}}");
    assert!(error_of(&format!("version: 1\nplugins: [{one}, {one}]")).contains("is listed twice"));
    assert!(matches!(Lock::parse(&" ".repeat(3 << 20)), Err(LockError::TooLarge)));
}
