//! The interfaces `output` and `types`: where the tree goes.

use plumbline_core::Status;

use super::bindings::post_processor::plumbline::plugin::{output, types};
use crate::call::emit::{RawDetail, RawItem};
use crate::call::state::CallState;

impl types::Host for CallState {}

impl output::Host for CallState {
    fn emit(&mut self, items: Vec<types::Item>) -> wasmtime::Result<()> {
        Ok(CallState::emit(self, items.into_iter().map(RawItem::from))?)
    }
}

impl From<types::Item> for RawItem {
    fn from(item: types::Item) -> Self {
        let types::Item { depth, name, status, meta, details } = item;
        let status = status.map(Status::from);
        let details = details.into_iter().map(|(key, value)| (key, value.into())).collect();
        Self { depth, name, status, meta, details }
    }
}

impl From<types::Status> for Status {
    fn from(status: types::Status) -> Self {
        match status {
            types::Status::Passed => Self::Passed,
            types::Status::Failed => Self::Failed,
            types::Status::Skipped => Self::Skipped,
            types::Status::Timeout => Self::Timeout,
            types::Status::Unknown => Self::Unknown,
            types::Status::Custom(text) => Self::Custom(text),
        }
    }
}

impl From<types::Detail> for RawDetail {
    fn from(detail: types::Detail) -> Self {
        match detail {
            types::Detail::Text(text) => Self::Text(text),
            types::Detail::Json(text) => Self::Json(text),
        }
    }
}
