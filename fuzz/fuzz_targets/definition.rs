//! Fuzzes plugin definitions, which are untrusted YAML. A valid one must survive the round trip
//! through an archive.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_core::Definition;

fuzz_target!(|yaml: &str| {
    let Ok(parsed) = Definition::parse(yaml) else { return };
    let again = Definition::from_json(parsed.definition.to_json()).expect("our own JSON is readable");
    assert_eq!(again.definition, parsed.definition);
});
