//! The rules of an item, as the host enforces them (`wit/types.wit`).

use crate::item::{MAX_CUSTOM_STATUS, MAX_NAME};
use crate::{Detail, Item, Status};

/// Returns the rule that `item` breaks, as a sentence. `previous` is the depth of the item before
/// it.
pub(super) fn problem(item: &Item, previous: Option<u32>) -> Option<String> {
    let deepest = previous.map_or(0, |depth| depth.saturating_add(1));
    if item.depth > deepest {
        return Some(format!("item `{}` has depth {}, but at most {deepest} can follow here", item.name, item.depth));
    }
    if item.name.is_empty() {
        return Some(format!("an item at depth {} has an empty name", item.depth));
    }
    if item.name.len() > MAX_NAME {
        let begin = item.name.get(..item.name.floor_char_boundary(60)).unwrap_or_default();
        return Some(format!("the name `{begin}…` has {} bytes (at most {MAX_NAME})", item.name.len()));
    }
    if let Some(Status::Custom(text)) = &item.status
        && (text.is_empty() || text.len() > MAX_CUSTOM_STATUS)
    {
        return Some(format!(
            "the custom status of item `{}` is empty or longer than {MAX_CUSTOM_STATUS} bytes",
            item.name
        ));
    }
    item.details.iter().find_map(|(key, value)| match value {
        Detail::Text(_) => None,
        Detail::Json(text) => serde_json::from_str::<serde::de::IgnoredAny>(text)
            .err()
            .map(|error| format!("detail `{key}` of item `{}` is not JSON: {error}", item.name)),
    })
}
