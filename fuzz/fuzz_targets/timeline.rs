//! Fuzzes the lines of a cluster timeline. Reports print the texts of those that are entries.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_core::text::steers_terminal;
use plumbline_core::timeline::TimelineEntry;

fuzz_target!(|file: &[u8]| {
    for line in file.split(|byte| *byte == b'\n') {
        let Some(entry) = TimelineEntry::parse(line) else { continue };
        let names = [entry.node, entry.namespace, entry.pod, entry.plugin].into_iter().flatten();
        let codes = entry.api.into_iter().flat_map(|api| api.errors.into_keys());
        for text in [entry.name, entry.text].into_iter().chain(names).chain(codes) {
            assert!(!text.chars().any(steers_terminal), "{text:?}");
        }
    }
});
