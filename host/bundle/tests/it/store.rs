//! Tests of installing, replacing, finding and removing bundles.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use plumbline_bundle::{Bundle, Origin, Store, StoreError};

use crate::make::{Bed, DEFINITION, executable, tar_of};

fn origin(source: &str) -> Origin {
    Origin { source: source.to_owned(), ..Origin::default() }
}

fn store(bed: &Bed) -> Store {
    Store::at(bed.path("data/plumbline/bundles")).reserving(["host-facts"])
}

#[test]
fn a_directory_and_its_tar_install_the_same() {
    let bed = Bed::new();
    let store = store(&bed);
    assert!(store.find("sample").unwrap().is_none() && store.list().unwrap().is_empty());
    let dir = bed.sample("b");
    bed.write("b/src/secret.rs", "not packed");
    let first = store.install(&dir, origin("./b")).unwrap();
    assert_eq!(first.bundle.digest(), Bundle::open(&dir).unwrap().digest());
    let at = store.dir().join("sample");
    assert!(!at.join("bundle/src").exists() && !at.join("signatures.json").exists());
    let mode = |name: &str| fs::metadata(at.join("bundle").join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("plugin.yaml"), mode("check.sh")), (0o444, 0o555));

    let tar = bed.write("b.bundle.tar", tar_of(&dir));
    let signed =
        Origin { version: Some("1.2".to_owned()), signatures: Some(b"{}".to_vec()), ..origin("./b.bundle.tar") };
    store.install(&tar, signed).unwrap();
    let found = store.find("sample").unwrap().unwrap();
    assert_eq!(found.bundle.digest(), first.bundle.digest());
    assert_eq!((found.record.source.as_str(), found.record.version.as_deref()), ("./b.bundle.tar", Some("1.2")));
    assert_eq!((found.record.digest, found.signatures.as_deref()), (first.bundle.digest(), Some(b"{}".as_slice())));
    let inside: Vec<_> = fs::read_dir(store.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(inside.len(), 2, "the bundle and the lock: {inside:?}");

    store.remove("sample").unwrap();
    assert!(store.find("sample").unwrap().is_none());
    assert!(matches!(store.remove("sample"), Err(StoreError::NotInstalled(_))));
    for elsewhere in ["../../data", "..", ".lock", "a/b", ""] {
        assert!(store.remove(elsewhere).is_err() && store.find(elsewhere).unwrap().is_none(), "{elsewhere}");
    }
}

#[test]
fn a_failed_installation_keeps_the_installed_bundle() {
    let bed = Bed::new();
    let store = store(&bed);
    let dir = bed.sample("b");
    store.install(&dir, origin("good")).unwrap();
    bed.write("b/extra.wasm", "junk");
    assert!(matches!(store.install(&dir, origin("bad module")), Err(StoreError::Bundle(_))));
    let tar = bed.write("junk.tar", "junk");
    assert!(matches!(store.install(&tar, origin("bad tar")), Err(StoreError::Unpack(_))));
    assert!(matches!(store.install(&bed.path("missing"), origin("x")), Err(StoreError::Io { .. })));
    let large = Origin { signatures: Some(vec![b' '; (1 << 20) + 1]), ..origin("x") };
    assert!(matches!(store.install(&dir, large), Err(StoreError::Signatures)));
    fs::remove_file(dir.join("extra.wasm")).unwrap();
    bed.write("b/plugin.yaml", DEFINITION.replace("plugin-name: sample", "plugin-name: host-facts"));
    let error = store.install(&dir, origin("built-in")).unwrap_err();
    assert!(matches!(&error, StoreError::Reserved(name) if name == "host-facts"), "{error}");
    assert!(error.hint().unwrap().contains("plugin-name"));
    let list = store.list().unwrap();
    assert_eq!(list.len(), 1);
    assert_eq!(list[0].state.as_ref().unwrap().record.source, "good");
    assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 2, "nothing is left next to it");
}

#[test]
fn damaged_bundles_are_listed_with_the_reason_and_hide_no_others() {
    let bed = Bed::new();
    let store = store(&bed);
    for name in ["changed", "cut", "good", "renamed"] {
        let dir = bed.sample(name);
        bed.write(
            &format!("{name}/plugin.yaml"),
            DEFINITION.replace("plugin-name: sample", &format!("plugin-name: {name}")),
        );
        store.install(&dir, origin(name)).unwrap();
    }
    let at = |name: &str| store.dir().join(name);
    let overwrite = |path: &Path, text: &str| {
        executable(path, 0o644);
        fs::write(path, text).unwrap();
    };
    overwrite(&at("changed").join("bundle/check.sh"), "#!/bin/sh\nrm -rf /\n");
    overwrite(&at("cut").join("install.json"), "{\"source\": ");
    fs::rename(at("renamed"), at("other")).unwrap();
    fs::create_dir(at("Not A Name")).unwrap();
    fs::write(at("file"), "").unwrap();
    fs::create_dir(at(".plumbline-left")).unwrap();

    let list = store.list().unwrap();
    let lines: Vec<String> = list
        .iter()
        .map(|entry| match &entry.state {
            Ok(installed) => format!("{}: sound, {}", entry.name, installed.record.source),
            Err(error) => format!("{}: {error}", entry.name),
        })
        .collect();
    let expect = [
        ("Not A Name", "invalid plugin name"),
        ("changed", "was changed"),
        ("cut", "`install.json` is malformed"),
        ("file", "failed to read `install.json`"),
        ("good", "sound, good"),
        ("other", "its definition has the name `renamed`"),
    ];
    assert_eq!(lines.len(), expect.len(), "{lines:#?}");
    for (line, (name, why)) in lines.iter().zip(expect) {
        assert!(line.starts_with(&format!("{name}: ")) && line.contains(why), "{line}");
    }
    assert!(matches!(store.find("changed"), Err(StoreError::Changed { .. })), "the digest is verified when it is used");
    assert!(matches!(store.find("cut"), Err(StoreError::Damaged { .. })));
    store.remove("cut").unwrap();
    assert!(!at(".plumbline-left").exists(), "what a killed process left is removed by the next");
    store.install(&bed.path("changed"), origin("again")).unwrap();
    assert!(store.find("changed").unwrap().is_some());
}

#[test]
fn readers_find_either_the_old_bundle_or_the_new_one() {
    let bed = Bed::new();
    let store = store(&bed);
    let (one, two) = (bed.sample("one"), bed.sample("two"));
    bed.write("two/README.md", "Another.\n");
    store.install(&one, origin("one")).unwrap();
    let digests = [&one, &two].map(|dir| Bundle::open(dir).unwrap().digest());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers = [&one, &two].map(|dir| {
            let store = &store;
            scope.spawn(move || {
                for _ in 0..10 {
                    store.install(dir, origin("again")).unwrap();
                }
            })
        });
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // A reader can see a bundle disappear while it is being replaced. Any bundle that
                // it accepts is one of the two.
                match store.find("sample") {
                    Ok(Some(found)) => assert!(digests.contains(&found.bundle.digest())),
                    Ok(None) => panic!("there was a moment without either"),
                    Err(_) => {}
                }
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert!(digests.contains(&store.find("sample").unwrap().unwrap().bundle.digest()));
    assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 2);
}
