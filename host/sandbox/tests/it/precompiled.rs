//! Tests for precompiled code.

use plumbline_core::{Digest, ModuleLimits};
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{CompilerProcess, LoadError, Module, Sandbox, SandboxConfig, Stats, code_target};

use crate::handmade::{component, core};
use crate::support::{call, guest_file, plugin, small_sandbox};

/// Makes bytes static, as if they were embedded in the program.
fn embedded(bytes: Vec<u8>) -> &'static [u8] {
    Box::leak(bytes.into_boxed_slice())
}

fn works(module: &Module) {
    call(module, &plugin(Behaviour::Behave), Vec::new(), &ModuleLimits::default()).result.unwrap();
    assert_eq!(call(module, &plugin(Behaviour::PanicHalfway), Vec::new(), &ModuleLimits::default()).items.len(), 3);
}

#[test]
fn a_precompiled_module_loads_without_compiling() {
    let sandbox = small_sandbox(1);
    let module = sandbox
        .load_precompiled("misbehave", &guest_file("misbehave.wasm"), embedded(guest_file("misbehave.cwasm")))
        .unwrap();
    assert_eq!(sandbox.stats(), Stats { compiled: 0, cached: 0, precompiled: 1 });
    works(&module);
}

#[test]
fn compiling_ahead_gives_the_same_bytes_each_time() {
    let wasm = component("0.1.0", &core("", "", "(call $emit_item)"));
    let (one, other) = (small_sandbox(1), small_sandbox(2));
    assert_eq!(one.precompile("a", &wasm).unwrap(), other.precompile("b", &wasm).unwrap());
    assert_eq!(one.stats(), Stats::default());
}

#[test]
fn an_incompatible_precompiled_module_is_compiled() {
    let wasm = guest_file("misbehave.wasm");
    let whole = guest_file("misbehave.cwasm");
    let other = small_sandbox(1).precompile("other", &component("0.1.0", &core("", "", ""))).unwrap();
    // The header contains the engine with its full version from byte 16 on.
    let mut other_engine = whole.clone();
    other_engine[16] ^= 1;
    let cut_off = whole[..whole.len() / 2].to_vec();
    for (what, code) in [
        ("nothing", Vec::new()),
        ("rubbish", b"rubbish".to_vec()),
        ("of another component", other),
        ("of another engine", other_engine),
        ("cut off", cut_off),
    ] {
        let sandbox = small_sandbox(1);
        let module = sandbox.load_precompiled("misbehave", &wasm, embedded(code)).unwrap();
        assert_eq!(sandbox.stats(), Stats { compiled: 1, cached: 0, precompiled: 0 }, "{what}");
        works(&module);
    }
}

#[test]
fn a_module_that_does_not_load_is_not_precompiled() {
    let wasm = wat::parse_str(r#"(component (import "wasi:sockets/tcp@0.2.0" (instance)))"#).unwrap();
    assert!(small_sandbox(1).precompile("suspect", &wasm).is_err());
}

/// Loads the guest with carried code, of which the digest is known. Returns where its code came from.
fn carried(code: &[u8], digest: &Digest) -> Result<Stats, LoadError> {
    let sandbox = small_sandbox(1);
    let accepted = sandbox.accept("misbehave", guest_file("misbehave.wasm")).unwrap();
    works(&accepted.load_carried(code, digest)?);
    Ok(sandbox.stats())
}

#[test]
fn carried_code_loads_without_being_compiled() {
    let sandbox = small_sandbox(1);
    let code = sandbox.accept("misbehave", guest_file("misbehave.wasm")).unwrap().precompile().unwrap();
    assert_eq!(sandbox.stats(), Stats::default());
    assert_eq!(carried(&code, &Digest::of(&code)).unwrap(), Stats { compiled: 0, cached: 0, precompiled: 1 });
    assert!(code_target().starts_with(std::env::consts::ARCH));
}

#[test]
fn code_that_was_changed_is_refused() {
    let code = guest_file("misbehave.cwasm");
    let digest = Digest::of(&code);
    for at in [0, 20, 60, 100, 200, code.len() - 1] {
        let mut changed = code.clone();
        changed[at] ^= 1;
        let error = carried(&changed, &digest).unwrap_err();
        assert!(matches!(error, LoadError::CodeChanged(_)), "{at}: {error}");
    }
    assert!(matches!(carried(&code[..code.len() - 1], &digest), Err(LoadError::CodeChanged(_))));
}

#[test]
fn carried_code_that_does_not_fit_is_compiled_here() {
    let other = small_sandbox(1).precompile("other", &component("0.1.0", &core("", "", ""))).unwrap();
    let mut other_engine = guest_file("misbehave.cwasm");
    other_engine[16] ^= 1;
    for (what, code) in [("of another component", other), ("of another engine", other_engine)] {
        let stats = carried(&code, &Digest::of(&code)).unwrap();
        assert_eq!(stats, Stats { compiled: 1, cached: 0, precompiled: 0 }, "{what}");
    }
}

#[test]
fn code_for_others_is_cached_like_own_code() {
    let cache = tempfile::tempdir().unwrap();
    let config =
        SandboxConfig { cache_dir: Some(cache.path().join("modules")), max_instances: 1, ..SandboxConfig::default() };
    let wasm = component("0.1.0", &core("", "", "(call $emit_item)"));
    let code = Sandbox::new(config.clone()).unwrap().precompile("a", &wasm).unwrap();
    // Nothing can compile here.
    let absent = CompilerProcess { program: "/nonexistent".into(), args: Vec::new(), memory: 1 << 30, cpu_seconds: 1 };
    let sandbox = Sandbox::new(SandboxConfig { compiler: Some(absent), ..config }).unwrap();
    assert_eq!(sandbox.precompile("a", &wasm).unwrap(), code);
    assert!(sandbox.precompile("b", &component("0.1.0", &core("", "", ""))).is_err());
}
