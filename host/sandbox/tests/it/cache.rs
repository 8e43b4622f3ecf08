//! Tests for compiled code on disk: valid code is used, missing code is compiled again, and invalid
//! code never runs.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plumbline_core::ModuleLimits;
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{Sandbox, SandboxConfig, Stats};

use crate::handmade::{component, core};
use crate::support::{call, guest_file, plugin};

/// The variable with the cache directory for the process that runs [`racer`].
const RACE_DIR: &str = "PLUMBLINE_TEST_RACE_DIR";

fn sandbox(cache: &Path) -> Sandbox {
    Sandbox::new(SandboxConfig { cache_dir: Some(cache.to_owned()), max_instances: 1, ..SandboxConfig::default() })
        .unwrap()
}

/// Loads the guest in a new sandbox and calls it. Returns where its code came from.
fn load(cache: &Path) -> Stats {
    let sandbox = sandbox(cache);
    let module = sandbox.load("misbehave", &guest_file("misbehave.wasm")).unwrap();
    call(&module, &plugin(Behaviour::Behave), Vec::new(), &ModuleLimits::default()).result.unwrap();
    sandbox.stats()
}

const COMPILED: Stats = Stats { compiled: 1, cached: 0, precompiled: 0 };
const CACHED: Stats = Stats { compiled: 0, cached: 1, precompiled: 0 };

/// Lists the entries, including incomplete ones.
fn entries(cache: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

#[test]
fn the_second_time_nothing_is_compiled() {
    let base = tempfile::tempdir().unwrap();
    let cache = base.path().join("a/cache");
    assert_eq!(load(&cache), COMPILED);
    assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o7777, 0o700);
    assert_eq!(load(&cache), CACHED);
    let [entry] = &entries(&cache)[..] else { panic!("one component, one entry") };
    assert_eq!(fs::metadata(entry).unwrap().mode() & 0o7777, 0o600);
}

#[test]
fn broken_entries_are_recompiled() {
    let base = tempfile::tempdir().unwrap();
    let cache = base.path().join("cache");
    assert_eq!(load(&cache), COMPILED);
    let entry = entries(&cache).remove(0);
    let whole = fs::read(&entry).unwrap();
    let last = whole.len() - 1;
    let mut flipped = whole.clone();
    flipped[last / 2] ^= 1;
    let mut other_head = whole.clone();
    other_head[20] ^= 1;
    for (what, content) in [
        ("empty", Vec::new()),
        ("cut off", whole[..last].to_vec()),
        ("cut off in its head", whole[..40].to_vec()),
        ("one bit is different", flipped),
        ("of another engine", other_head),
        ("longer", [&whole[..], b"x"].concat()),
        ("something else", b"#!/bin/sh\n".to_vec()),
    ] {
        fs::write(&entry, content).unwrap();
        assert_eq!(load(&cache), COMPILED, "{what}");
        assert_eq!(fs::read(&entry).unwrap(), whole, "{what}");
        assert_eq!(load(&cache), CACHED, "{what}");
    }
}

#[test]
fn entries_under_a_false_name_are_not_used() {
    let base = tempfile::tempdir().unwrap();
    let cache = base.path().join("cache");
    assert_eq!(load(&cache), COMPILED);
    let guest = entries(&cache).remove(0);
    let other = component("0.1.0", &core("", "", "unreachable"));
    sandbox(&cache).load("other", &other).unwrap();
    let other = entries(&cache).into_iter().find(|entry| *entry != guest).unwrap();
    fs::copy(&other, &guest).unwrap();
    assert_eq!(load(&cache), COMPILED, "valid code, of another component");
}

#[test]
fn entries_that_others_may_have_written_are_not_used() {
    let base = tempfile::tempdir().unwrap();
    let cache = base.path().join("cache");
    assert_eq!(load(&cache), COMPILED);
    let entry = entries(&cache).remove(0);
    fs::set_permissions(&entry, Permissions::from_mode(0o666)).unwrap();
    assert_eq!(load(&cache), COMPILED);
    assert_eq!(fs::metadata(&entry).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(load(&cache), CACHED);

    fs::set_permissions(&cache, Permissions::from_mode(0o770)).unwrap();
    assert_eq!(load(&cache), COMPILED, "the directory is not used at all");
    fs::set_permissions(&cache, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(load(&cache), CACHED, "others may look");
}

#[test]
fn an_unusable_cache_is_not_a_failure() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(load(&file), COMPILED);
    assert_eq!(load(&file.join("below")), COMPILED);
}

#[test]
fn settings_that_change_no_code_share_it() {
    let base = tempfile::tempdir().unwrap();
    let cache = base.path().join("cache");
    assert_eq!(load(&cache), COMPILED);
    let config = SandboxConfig { cache_dir: Some(cache), max_instances: 3, stack: 4 << 20, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config).unwrap();
    sandbox.load("misbehave", &guest_file("misbehave.wasm")).unwrap();
    assert_eq!(sandbox.stats(), CACHED);
}

#[test]
fn processes_that_race_all_get_their_module() {
    let base = tempfile::tempdir().unwrap();
    let cache = base.path().join("cache");
    let racers: Vec<_> = (0..4)
        .map(|_| {
            let mut racer = Command::new(std::env::current_exe().unwrap());
            racer.args(["--exact", "cache::racer", "--ignored"]).env(RACE_DIR, &cache).stdout(Stdio::piped());
            racer.spawn().unwrap()
        })
        .collect();
    for racer in racers {
        let output = racer.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
    assert_eq!(entries(&cache).len(), 1, "and nothing unfinished is left: {:?}", entries(&cache));
    assert_eq!(load(&cache), CACHED);
}

/// One of the processes of [`processes_that_race_all_get_their_module`].
#[test]
#[ignore = "runs in a process of its own, started by another test"]
fn racer() {
    let Some(cache) = std::env::var_os(RACE_DIR) else { return };
    for _ in 0..3 {
        let stats = load(Path::new(&cache));
        assert!(stats == COMPILED || stats == CACHED);
    }
}
