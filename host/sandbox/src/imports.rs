//! The imports that a component may have.

use crate::error::InspectError;
use crate::generation::{PACKAGE, split_name};
use crate::inspect::{Inspected, inspect_all};

/// The WASI 0.2 interfaces that language runtimes import. They are present but empty. Sockets and
/// HTTP are not provided at all.
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

/// The supported versions of WASI.
const WASI_VERSION: &str = "0.2.";

/// The interfaces of `plumbline:plugin` that the host provides.
const OFFERED: &[&str] = &["input", "judgement", "log", "output", "results", "types"];

/// Returns the imports of a component that are not available to modules, in the component's order.
/// [`Sandbox::load`](crate::Sandbox::load) rejects the component because of them.
///
/// # Errors
///
/// Returns the same errors as [`inspect`](crate::inspect).
pub fn refused_imports(wasm: &[u8]) -> Result<Vec<String>, InspectError> {
    inspect_all(wasm).map(|inspected| refused(&inspected))
}

/// Returns the rejected imports, in the component's order.
pub(crate) fn refused(component: &Inspected) -> Vec<String> {
    let refused = |name: &&String| !allowed(name) || component.non_instance_imports.contains(name);
    component.info.imports.iter().filter(refused).cloned().collect()
}

/// Returns whether WASI must be linked. It is not linked to a component that does not import it.
pub(crate) fn wants_wasi(imports: &[String]) -> bool {
    imports.iter().any(|name| name.starts_with("wasi:"))
}

fn allowed(name: &str) -> bool {
    let (interface, version) = split_name(name);
    match interface.strip_prefix(PACKAGE) {
        // Versions of the package are checked elsewhere, with their own error.
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
