//! From a document to items.

use plumbline_sdk::item::MAX_CUSTOM_STATUS;
use plumbline_sdk::{Item, Output, Status};

use crate::entry::Entry;
use crate::json::{Json, VALUE_BYTES};

/// Levels of items at most, the file's own included. Real trees have up to six; the parser's bound on nesting leaves room for details.
pub const MAX_LEVELS: usize = 24;

/// Bytes of all meta and details of an item, each value with 32 more for its place: 12 MiB, so that with its name it stays below the
/// host's 16 MiB.
pub const MAX_ITEM_TEXT: usize = 12 << 20;

/// Bytes of an item's name.
const MAX_NAME: usize = 32 << 10;

/// Bytes of a name or status that is kept as a detail because it was cut.
const MAX_WHOLE: usize = 1 << 20;

/// Emits the tree of a document below `file`, the item of its file, which takes what the document says of the whole.
pub(crate) fn document(file: Item, mut entry: Entry, out: &mut Output) {
    // The whole bears the name of the file, and only the meta that says so.
    entry.name = None;
    entry.meta = None;
    below(file, entry, out);
}

/// Emits `item`, filled with what stands in `entry`, and the items below it.
fn below(mut item: Item, entry: Entry, out: &mut Output) {
    let depth = item.depth;
    let mut room = MAX_ITEM_TEXT;
    let mut left_out = 0_u64;
    let mut fits = |key: &str, cost: usize| match room.checked_sub(VALUE_BYTES + key.len() + cost) {
        Some(left) => {
            room = left;
            true
        }
        None => {
            left_out += 1;
            false
        }
    };
    for (key, value) in entry.meta.into_iter().flat_map(|meta| meta.0) {
        let value = value.unwrap_or_default();
        if fits(&key, value.len()) {
            item = item.meta(key, value);
        }
    }
    for (key, value) in entry.details.into_iter().flat_map(|details| details.0) {
        if fits(&key, value.cost()) {
            item = match value {
                Json::Text(text) => item.text(key, text),
                Json::Document { json, .. } => item.raw_json(key, json),
            };
        }
    }
    if let Some(status) = entry.status {
        item = with_status(item, &status);
    }
    if left_out > 0 {
        let cut = format!("left out of meta and details: {left_out} (an item may have {MAX_ITEM_TEXT} bytes of them)");
        item = item.text("cut", cut);
    }
    out.emit(item);
    for (place, child) in entry.items.into_iter().flatten().enumerate() {
        let child = child.unwrap_or_default();
        let item = named(depth + 1, child.name.as_deref().unwrap_or_default(), place + 1);
        below(item, child, out);
    }
}

/// An item of that name, or named by its place where it has none.
fn named(depth: u32, name: &str, place: usize) -> Item {
    if name.is_empty() {
        return Item::new(depth, format!("item-{place:03}"));
    }
    match shortened(name, MAX_NAME) {
        None => Item::new(depth, name),
        Some(short) => Item::new(depth, short).text("name", cut(name, MAX_WHOLE)),
    }
}

fn with_status(item: Item, status: &str) -> Item {
    match shortened(status, MAX_CUSTOM_STATUS) {
        None => item.status(Status::from(status)),
        Some(short) => item.status(Status::Custom(short)).text("status", cut(status, MAX_WHOLE)),
    }
}

/// The beginning of `text` and an ellipsis, together at most `max` bytes; `None` where it is short enough.
fn shortened(text: &str, max: usize) -> Option<String> {
    const DOTS: &str = "…";
    (text.len() > max).then(|| format!("{}{DOTS}", cut(text, max.saturating_sub(DOTS.len()))))
}

/// The first `max` bytes of `text`, or less, so that no character is cut.
fn cut(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}
