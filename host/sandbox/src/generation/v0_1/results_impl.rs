//! The interface `results`: the tree of a plugin, as a stream.

use plumbline_core::{FlatItem, NOT_READ, Status};
use serde_json::Value;
use wasmtime::component::Resource;

use super::bindings::post_processor::plumbline::plugin::types;
use super::bindings::summarizer::plumbline::plugin::results::{Entry, Host, HostItems};
use crate::call::io;
use crate::call::reading::ItemsHandle;
use crate::call::state::CallState;

impl Host for CallState {}

impl HostItems for CallState {
    fn next(&mut self, _: Resource<ItemsHandle>, max: u32) -> wasmtime::Result<Result<Vec<Entry>, String>> {
        let batch = self.results.next(max, &self.clock)?;
        Ok(batch.map(|entries| entries.into_iter().map(Entry::from).collect()))
    }

    fn drop(&mut self, _: Resource<ItemsHandle>) -> wasmtime::Result<()> {
        self.results.close();
        Ok(())
    }
}

impl From<io::Entry> for Entry {
    fn from(entry: io::Entry) -> Self {
        Self { set: entry.set, item: entry.item.into() }
    }
}

impl From<FlatItem> for types::Item {
    fn from(item: FlatItem) -> Self {
        let FlatItem { depth, name, status, meta, details } = item;
        let details = details.into_iter().map(|(key, value)| {
            let value = match value {
                Value::String(text) => types::Detail::Text(text),
                other => types::Detail::Json(other.to_string()),
            };
            (key, value)
        });
        Self {
            depth,
            name,
            status: status.map(types::Status::from),
            meta: meta.into_iter().collect(),
            details: details.collect(),
        }
    }
}

impl From<Status> for types::Status {
    fn from(status: Status) -> Self {
        match status {
            Status::Passed => Self::Passed,
            Status::Failed => Self::Failed,
            Status::Skipped => Self::Skipped,
            Status::Timeout => Self::Timeout,
            Status::Unknown => Self::Unknown,
            // A word that the contract does not know.
            Status::NotRead => Self::Custom(NOT_READ.to_owned()),
            Status::Custom(text) => Self::Custom(text),
        }
    }
}
