//! Detects the kind of a file from its first eight bytes.

use crate::error::InspectError;

/// The layer field of components. Core modules have 0.
const LAYER_COMPONENT: u16 = 1;
/// The version field of the component format in use since 2023.
const VERSION_COMPONENT: u16 = 0x0d;
const VERSION_CORE: u16 = 1;

/// Rejects a file that is not a component, and reports what it is.
pub(super) fn check(wasm: &[u8]) -> Result<(), InspectError> {
    if wasm.is_empty() {
        return Err(InspectError::Empty);
    }
    let magic = b"\0asm";
    let Some(rest) = wasm.strip_prefix(magic) else {
        if magic.starts_with(wasm) {
            return Err(InspectError::Truncated { at: wasm.len() as u64 });
        }
        let beginning = wasm.get(..8).unwrap_or(wasm);
        return Err(InspectError::NotWasm { beginning: format!("0x{}", hex::encode(beginning)) });
    };
    let Some([v0, v1, l0, l1]) = rest.first_chunk() else {
        return Err(InspectError::Truncated { at: wasm.len() as u64 });
    };
    match (u16::from_le_bytes([*v0, *v1]), u16::from_le_bytes([*l0, *l1])) {
        (VERSION_COMPONENT, LAYER_COMPONENT) => Ok(()),
        (VERSION_CORE, 0) => Err(InspectError::CoreModule),
        (version, layer) => Err(InspectError::UnknownKind { version, layer }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_files_are_told_apart() {
        assert_eq!(check(b"\0asm\x0d\0\x01\0"), Ok(()));
        assert_eq!(check(b""), Err(InspectError::Empty));
        assert_eq!(check(b"\0asm\x01\0\0\0"), Err(InspectError::CoreModule));
        assert_eq!(check(b"\0as"), Err(InspectError::Truncated { at: 3 }));
        assert_eq!(check(b"\0asm\x0d"), Err(InspectError::Truncated { at: 5 }));
        assert_eq!(check(b"\0asm\x0e\0\x01\0"), Err(InspectError::UnknownKind { version: 14, layer: 1 }));
        assert_eq!(
            check(b"#!/bin/sh\n").unwrap_err().to_string(),
            "it is not WebAssembly: it begins with 0x23212f62696e2f73"
        );
    }
}
