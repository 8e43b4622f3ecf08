//! What a component may ask for.

use crate::error::InspectError;
use crate::generation::{PACKAGE, split_name};
use crate::inspect::{Inspected, inspect_all};

/// Interfaces of WASI 0.2 that language runtimes import. They are there, and hold nothing; sockets and HTTP are not there at all.
const WASI: &[&str] = &[
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// The versions of WASI that are meant above.
const WASI_VERSION: &str = "0.2.";

/// Interfaces of `plumbline:plugin` that the host offers.
const OFFERED: &[&str] = &["input", "judgement", "log", "output", "results", "types"];

/// The imports of a component that no module gets, in the component's order: [`Sandbox::load`](crate::Sandbox::load) refuses it for them.
///
/// # Errors
/// As for [`inspect`](crate::inspect).
pub fn refused_imports(wasm: &[u8]) -> Result<Vec<String>, InspectError> {
    inspect_all(wasm).map(|inspected| refused(&inspected))
}

/// The imports that are refused, in the component's order.
pub(crate) fn refused(component: &Inspected) -> Vec<String> {
    let refused = |name: &&String| !allowed(name) || component.odd_imports.contains(name);
    component.info.imports.iter().filter(refused).cloned().collect()
}

/// Whether WASI must be linked: not at all for a component that does not ask for it.
pub(crate) fn wants_wasi(imports: &[String]) -> bool {
    imports.iter().any(|name| name.starts_with("wasi:"))
}

fn allowed(name: &str) -> bool {
    let (interface, version) = split_name(name);
    match interface.strip_prefix(PACKAGE) {
        // Versions of the package are judged elsewhere, with a sentence of their own.
        Some(interface) => OFFERED.contains(&interface),
        None => WASI.contains(&interface) && version.starts_with(WASI_VERSION),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_is_allowed() {
        for good in [
            "wasi:cli/environment@0.2.0",
            "wasi:io/streams@0.2.12",
            "plumbline:plugin/results@0.1.0",
            "plumbline:plugin/judgement@0.1.0",
        ] {
            assert!(allowed(good), "{good}");
        }
        for bad in [
            "wasi:sockets/tcp@0.2.0",
            "wasi:http/types@0.2.0",
            "wasi:cli/environment@0.3.0",
            "wasi:cli/environment",
            "wasi:cli/environments@0.2.0",
            "plumbline:plugin/network@0.1.0",
            "env",
            "",
        ] {
            assert!(!allowed(bad), "{bad}");
        }
    }
}
