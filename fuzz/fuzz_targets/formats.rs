//! Fuzzes the post-processors for CTRF, events of Go, lines of items, SARIF and TAP with untrusted
//! files. Their items must obey the host's rules (the harness panics otherwise), and must not depend on
//! where the host splits a file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_module_ctrf::Ctrf;
use plumbline_module_gojson::GoJson;
use plumbline_module_items::Items;
use plumbline_module_sarif::Sarif;
use plumbline_module_tap::Tap;
use plumbline_sdk::PostProcessor;
use plumbline_sdk::testing::Case;

fuzz_target!(|file: &[u8]| {
    read::<Ctrf>(file);
    read::<GoJson>(file);
    read::<Items>(file);
    read::<Sarif>(file);
    read::<Tap>(file);
});

fn read<P: PostProcessor>(file: &[u8]) {
    let case = Case::new().file("results/global/report", file);
    let whole = case.run::<P>();
    assert_eq!(whole.outcome, Ok(()), "no file is a reason to fail");
    assert!(!whole.items.is_empty(), "each file has an item at least");
    // The last byte selects the size, so that any file is a valid input.
    let chunk = u32::from(file.last().copied().unwrap_or_default());
    let cut = case.chunk(chunk).run::<P>();
    assert_eq!(cut.items, whole.items);
}
