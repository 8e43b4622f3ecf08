//! What a program file says about itself.

/// Returns whether a binary starts without a loader: a 64-bit little-endian ELF file without an
/// interpreter.
pub(crate) fn is_static(elf: &[u8]) -> bool {
    /// The type of the program header that names the interpreter.
    const PT_INTERP: u32 = 3;
    let u16_at = |at: usize| elf.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_le_bytes);
    let u32_at = |at: usize| elf.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes);
    let u64_at = |at: usize| elf.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let (Some(table), Some(size), Some(count)) = (u64_at(0x20), u16_at(0x36), u16_at(0x38)) else { return false };
    (0..u64::from(count)).all(|header| {
        let at = table.checked_add(header * u64::from(size)).and_then(|at| usize::try_from(at).ok());
        at.and_then(u32_at).is_some_and(|kind| kind != PT_INTERP)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_with_a_loader_is_distinguished_from_one_without() {
        let mut elf = vec![0; 0x40 + 0x38];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[0x20] = 0x40;
        elf[0x36] = 0x38;
        elf[0x38] = 1;
        elf[0x40] = 1;
        assert!(is_static(&elf));
        elf[0x40] = 3;
        assert!(!is_static(&elf));
        // A program header that is missing.
        elf[0x38] = 2;
        elf[0x40] = 1;
        assert!(!is_static(&elf));
        assert!(!is_static(b"#!/bin/sh\n") && !is_static(b"\x7fELF\x02\x01"));
    }

    #[test]
    fn this_very_program_is_what_it_was_built_as() {
        let me = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(is_static(&me), cfg!(target_feature = "crt-static"));
    }
}
