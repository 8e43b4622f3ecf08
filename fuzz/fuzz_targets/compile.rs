//! Fuzzes the compilation of components that pass inspection. The test is libFuzzer's own limit: 2
//! GiB and 25 s for at most 64 KiB of input.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use plumbline_sandbox::{Sandbox, SandboxConfig};

static SANDBOX: OnceLock<Sandbox> = OnceLock::new();

fuzz_target!(|wasm: &[u8]| {
    if wasm.len() > 64 << 10 {
        return;
    }
    let sandbox = SANDBOX.get_or_init(|| {
        let config = SandboxConfig { max_instances: 1, ..SandboxConfig::default() };
        Sandbox::new(config).expect("the limits agree")
    });
    let _ = sandbox.load("fuzz", wasm);
});
