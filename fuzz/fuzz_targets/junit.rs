//! Fuzzes the post-processor for JUnit with untrusted files. Its items must obey the host's rules
//! (the harness panics otherwise), and must not depend on where the host splits a file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_module_junit::Junit;
use plumbline_sdk::testing::Case;

fuzz_target!(|file: &[u8]| {
    let case = Case::new().file("results/global/report.xml", file);
    let whole = case.run::<Junit>();
    assert_eq!(whole.outcome, Ok(()), "no file is a reason to fail");
    assert!(!whole.items.is_empty(), "each file has an item at least");
    // The last byte selects the size, so that any file is a valid input.
    let chunk = u32::from(file.last().copied().unwrap_or_default());
    let cut = case.chunk(chunk).run::<Junit>();
    assert_eq!(cut.items, whole.items);
});
