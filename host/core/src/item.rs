//! The result tree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::status::Status;

/// Short facts about an item. Known keys: `type` (`summary` at the root, `node`, `file`), `file`
/// (path below the plugin's directory), `error`.
pub type Meta = BTreeMap<String, String>;

/// One node of the result tree, as written in `sonobuoy_results.yaml`.
///
/// The order of keys is `name`, `status`, `meta`, `details`, `items`. Empty keys are left out,
/// except for `name` and `status`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Item {
    /// The display name.
    #[serde(default)]
    pub name: String,
    /// The status. For an item with children, it is rolled up from them.
    #[serde(default)]
    pub status: Status,
    /// Short facts about the item.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: Meta,
    /// Information for users who look into a failure.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub details: serde_json::Map<String, serde_json::Value>,
    /// The children, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
}

/// An item in pre-order, before the tree is built. Modules emit this form, and it is spooled to
/// disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FlatItem {
    /// The depth, 0 for a root of the list. The parent of an item is the nearest earlier item one
    /// level up.
    pub depth: u32,
    /// The display name.
    pub name: String,
    /// The status. `None` means that it is rolled up from the children, or `unknown` if there are
    /// none.
    pub status: Option<Status>,
    /// Short facts about the item.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: Meta,
    /// Information for users who look into a failure.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub details: serde_json::Map<String, serde_json::Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_written_in_the_order_of_the_archive_and_without_what_is_empty() {
        let leaf = Item { name: "systemd_logs".to_owned(), status: Status::Passed, ..Item::default() };
        let item = Item {
            name: "kind-worker".to_owned(),
            status: Status::Failed,
            meta: [("type".to_owned(), "node".to_owned())].into(),
            details: [("pod".to_owned(), serde_json::json!({"a": [1]}))].into_iter().collect(),
            items: vec![leaf],
        };
        let text = r#"{"name":"kind-worker","status":"failed","meta":{"type":"node"},"details":{"pod":{"a":[1]}},"items":[{"name":"systemd_logs","status":"passed"}]}"#;
        assert_eq!(serde_json::to_string(&item).unwrap(), text);
        assert_eq!(serde_json::from_str::<Item>(text).unwrap(), item);
    }

    #[test]
    fn what_an_item_leaves_out_is_empty() {
        let item: Item = serde_json::from_str(r#"{"name": "a", "unheard-of": 1}"#).unwrap();
        assert_eq!(item, Item { name: "a".to_owned(), status: Status::Unknown, ..Item::default() });
    }
}
