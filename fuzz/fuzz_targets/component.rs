//! Fuzzes the inspection of untrusted WebAssembly components, which the host does before it
//! compiles anything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_sandbox::inspect;

fuzz_target!(|wasm: &[u8]| {
    if let Ok(info) = inspect(wasm) {
        assert_eq!(inspect(wasm).ok().as_ref().map(|again| format!("{again:?}")), Some(format!("{info:?}")));
    }
});
