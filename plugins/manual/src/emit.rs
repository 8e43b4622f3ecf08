//! Converts a document to items.

use plumbline_sdk::item::MAX_CUSTOM_STATUS;
use plumbline_sdk::text::cut;
use plumbline_sdk::{Item, Output, Status};

use crate::entry::{Entry, Misspelled};
use crate::json::{Json, VALUE_BYTES};

/// Maximum number of levels of items, including that of the file. Real trees have up to six. The
/// parser's limit on nesting leaves room for details.
pub const MAX_LEVELS: usize = 24;

/// Maximum size in bytes of all metadata and details of an item, with 32 more for each value: 12
/// MiB. With its name, an item then stays below the host's 16 MiB.
pub const MAX_ITEM_TEXT: usize = 12 << 20;

/// Maximum size in bytes of an item's name.
const MAX_NAME: usize = 32 << 10;

/// Maximum size in bytes of the whole name or status that is kept as a detail if it was cut.
const MAX_WHOLE: usize = 1 << 20;

/// Emits the tree of a document below `file`, the item of its file. That item gets the status and
/// details of the document itself.
pub(crate) fn document(file: Item, mut entry: Entry, out: &mut Output) {
    // The item keeps the name and metadata of the file.
    entry.name = None;
    entry.meta = None;
    below(file, entry, out);
}

/// Emits `item` with the content of `entry`, and the items below it. A misspelled key is an item after
/// them, because an item below would replace the status.
fn below(mut item: Item, entry: Entry, out: &mut Output) {
    let depth = item.depth;
    let misspelled = entry.misspelled.map(|misspelled| misspelled_key(&item, &misspelled));
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
    if let Some(item) = misspelled {
        out.emit(item);
    }
}

/// Returns the item for a key that hides results of `item`.
fn misspelled_key(item: &Item, Misspelled { key, meant }: &Misspelled) -> Item {
    let what = format!("unknown key `{key}`: did you mean `{meant}`?");
    let name = shortened(&item.name, MAX_NAME / 2).unwrap_or_else(|| item.name.clone());
    Item::new(item.depth, format!("{name}: {what}")).status(Status::Unknown).meta("error", what)
}

/// Creates an item with this name, or with a name from its position if it has none.
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

/// Returns the start of `text` and an ellipsis, at most `max` bytes in total; `None` if the text is
/// short enough.
fn shortened(text: &str, max: usize) -> Option<String> {
    const DOTS: &str = "…";
    (text.len() > max).then(|| format!("{}{DOTS}", cut(text, max.saturating_sub(DOTS.len()))))
}
