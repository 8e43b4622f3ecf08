//! The result of a native run.

use serde_json::{Map, Value, json};

use crate::context::Progress;
use crate::item::{MAX_CUSTOM_STATUS, MAX_NAME};
use crate::log::Level;
use crate::{Detail, Item, Status};

/// The output of a module in a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The emitted items, in order.
    pub items: Vec<Item>,
    /// The return value of the module's function.
    pub outcome: Result<(), String>,
    /// The log, line by line.
    pub log: Vec<(Level, String)>,
    /// The progress that a check reported.
    pub progress: Vec<Progress>,
}

impl Run {
    /// Returns the items as trees, each root with its children. Statuses are those that the module
    /// set; the host has not rolled them up.
    #[must_use]
    pub fn tree(&self) -> Vec<Tree> {
        let mut roots = Vec::new();
        let mut open: Vec<Tree> = Vec::new();
        for item in &self.items {
            close(&mut open, &mut roots, item.depth as usize);
            open.push(Tree { item: item.clone(), children: Vec::new() });
        }
        close(&mut open, &mut roots, 0);
        roots
    }

    /// Returns the items as JSON, in the host's form: a list of `{"depth", "name", "status",
    /// "meta", "details"}`. `status` is null if the host is to roll it up. `meta` and `details` are
    /// omitted if empty.
    ///
    /// # Panics
    ///
    /// Never: the harness has checked every JSON detail.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.items.iter().map(item_json).collect()
    }

    /// Returns an outline of the items, for assertions: one line `name: status` each, indented by
    /// two spaces per level. The status is `-` if the host is to roll it up.
    #[must_use]
    pub fn outline(&self) -> String {
        let mut lines = String::new();
        for item in &self.items {
            for _ in 0..item.depth {
                lines.push_str("  ");
            }
            lines.push_str(&item.name);
            lines.push_str(": ");
            lines.push_str(item.status.as_ref().map_or("-", Status::as_str));
            lines.push('\n');
        }
        lines
    }

    /// Returns the first item with this name.
    #[must_use]
    pub fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name == name)
    }

    /// Counts the items with this status.
    #[must_use]
    pub fn count(&self, status: &Status) -> usize {
        self.items.iter().filter(|item| item.status.as_ref() == Some(status)).count()
    }
}

/// Moves finished items into their parents until `depth` of them are open.
fn close(open: &mut Vec<Tree>, roots: &mut Vec<Tree>, depth: usize) {
    while open.len() > depth {
        if let Some(done) = open.pop() {
            match open.last_mut() {
                Some(parent) => parent.children.push(done),
                None => roots.push(done),
            }
        }
    }
}

fn item_json(item: &Item) -> Value {
    let mut object = Map::new();
    object.insert("depth".to_owned(), json!(item.depth));
    object.insert("name".to_owned(), json!(item.name));
    object.insert("status".to_owned(), json!(item.status.as_ref().map(Status::as_str)));
    if !item.meta.is_empty() {
        let meta: Map<String, Value> = item.meta.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        object.insert("meta".to_owned(), Value::Object(meta));
    }
    if !item.details.is_empty() {
        let details: Map<String, Value> = item
            .details
            .iter()
            .map(|(key, value)| {
                let value = match value {
                    Detail::Text(text) => json!(text),
                    Detail::Json(text) => serde_json::from_str(text).unwrap_or_default(),
                };
                (key.clone(), value)
            })
            .collect();
        object.insert("details".to_owned(), Value::Object(details));
    }
    Value::Object(object)
}

/// An item with its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The item.
    pub item: Item,
    /// Its children, in order.
    pub children: Vec<Tree>,
}

/// Returns the rule that `item` breaks, as a sentence. `previous` is the depth of the item before
/// it. The rules are those of `wit/types.wit`, as the host enforces them.
pub(super) fn problem_of(item: &Item, previous: Option<u32>) -> Option<String> {
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
