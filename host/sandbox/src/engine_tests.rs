use super::*;

#[test]
fn fingerprints_are_stable_and_tell_engines_apart() {
    let small = SandboxConfig { max_instances: 1, ..SandboxConfig::default() };
    let (a, b) = (native(&small).unwrap(), native(&small).unwrap());
    assert_eq!(fingerprint(&a), fingerprint(&b));
    let compiler = Target::Native.compiler().unwrap();
    assert_eq!(fingerprint(&a), fingerprint(&compiler), "code of the compiler process is used here");
    let portable = || Target::Portable.compiler().unwrap();
    assert_eq!(fingerprint(&portable()), fingerprint(&portable()));
    assert_ne!(fingerprint(&a), fingerprint(&Engine::default()));
}

/// One inner component calls the other with a string, which is copied between their memories.
const NESTED: &str = r#"(component
    (component $called
        (core module $m
            (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 0)
            (func (export "f") (param i32 i32)))
        (core instance $i (instantiate $m))
        (func (export "f") (param "s" string)
            (canon lift (core func $i "f") (memory $i "memory") (realloc (func $i "realloc")))))
    (component $calling
        (import "f" (func $f (param "s" string)))
        (core module $libc (memory (export "memory") 1))
        (core instance $libc (instantiate $libc))
        (core func $lowered (canon lower (func $f) (memory $libc "memory")))
        (core module $m
            (import "" "f" (func $f (param i32 i32)))
            (func (export "run") (call $f (i32.const 0) (i32.const 4))))
        (core instance $i (instantiate $m (with "" (instance (export "f" (func $lowered))))))
        (func (export "run") (canon lift (core func $i "run"))))
    (instance $called (instantiate $called))
    (instance $calling (instantiate $calling (with "f" (func $called "f"))))
    (func (export "run") (alias export $calling "run")))"#;

#[test]
fn components_inside_a_component_are_joined() {
    let wasm = wat::parse_str(NESTED).unwrap();
    native(&SandboxConfig::default()).unwrap().precompile_component(&wasm).unwrap();
    Target::Portable.compiler().unwrap().precompile_component(&wasm).unwrap();
}

#[test]
fn settings_that_do_not_matter_to_code_do_not_change_the_fingerprint() {
    let one = SandboxConfig { max_instances: 1, ..SandboxConfig::default() };
    let other = SandboxConfig { max_instances: 2, stack: 2 << 20, max_memory: 64 << 20, ..SandboxConfig::default() };
    assert_eq!(fingerprint(&native(&one).unwrap()), fingerprint(&native(&other).unwrap()));
}
