//! Fuzzes result trees of archives. They are read as a whole, item by item, or without most details.
//! The last two readers must see the same items.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbline_aggregator::{LeanLimits, read_items, read_lean};
use plumbline_core::Item;

fuzz_target!(|text: &str| {
    let _ = Item::parse(text);
    let limits = LeanLimits::default();
    let lean = read_lean(text.as_bytes(), &limits);
    let mut items = Vec::new();
    let all = read_items(text.as_bytes(), limits.text_bytes, |item| {
        items.push((item.depth, item.name));
        Ok(())
    });
    if all.is_ok() {
        let lean = lean.expect("it reads fewer details than the other one");
        let mut found = Vec::new();
        list(&lean.root, 0, &mut found);
        assert_eq!(found, items);
    }
});

fn list(item: &Item, depth: u32, found: &mut Vec<(u32, String)>) {
    found.push((depth, item.name.clone()));
    item.items.iter().for_each(|item| list(item, depth + 1, found));
}
