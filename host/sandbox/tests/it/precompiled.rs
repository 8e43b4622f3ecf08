//! Tests for precompiled code.

use plumbline_core::ModuleLimits;
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{Module, Stats};

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
fn what_was_packed_loads_without_being_compiled() {
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
fn what_does_not_fit_is_compiled() {
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
fn what_would_not_load_is_not_compiled_ahead() {
    let wasm = wat::parse_str(r#"(component (import "wasi:sockets/tcp@0.2.0" (instance)))"#).unwrap();
    assert!(small_sandbox(1).precompile("suspect", &wasm).is_err());
}
