use super::*;

#[test]
fn settings_out_of_range_are_named() {
    let error = SandboxConfig { stack: 1, ..SandboxConfig::default() }.checked().unwrap_err();
    assert_eq!(error.to_string(), "setting `stack` is out of range: 1 (allowed: 65536 to 67108864)");
    assert!(SandboxConfig { max_instances: 0, ..SandboxConfig::default() }.checked().is_err());
    assert!(SandboxConfig { max_memory: 5 << 30, ..SandboxConfig::default() }.checked().is_err());
}

#[test]
fn memory_is_rounded_up_to_whole_pages() {
    let config = SandboxConfig { max_memory: WASM_PAGE + 1, ..SandboxConfig::default() }.checked().unwrap();
    assert_eq!(config.max_memory, 2 * WASM_PAGE);
}
