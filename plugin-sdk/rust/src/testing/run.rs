//! What a native run gives back.

use serde_json::{Map, Value, json};

use crate::log::Level;
use crate::{Detail, Item, Status};

/// What a module did with a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What was emitted, in order.
    pub items: Vec<Item>,
    /// What the module's function returned.
    pub outcome: Result<(), String>,
    /// The log, line by line.
    pub log: Vec<(Level, String)>,
}

impl Run {
    /// The items as trees, each root with its children; statuses as emitted, not rolled up (that is the host's).
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

    /// The items as JSON, in the host's spelling: a list of `{"depth", "name", "status", "meta", "details"}`; `status` is null
    /// where the host is to roll it up, `meta` and `details` are left out when empty.
    ///
    /// # Panics
    ///
    /// Never: the harness has checked every JSON detail.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.items.iter().map(item_json).collect()
    }

    /// The items as an outline, one line `name: status` each, two spaces per level; `-` where the host is to roll the status up.
    /// A form to compare with at a glance.
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

    /// The first item of that name.
    #[must_use]
    pub fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name == name)
    }

    /// How many items carry `status`.
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
