//! The interface `judgement`: the finished tree, as a stream, and what is said of it.

use plumbline_core::{CheckOutcome, Ruling};
use wasmtime::component::Resource;

use super::bindings::judge::plumbline::plugin::judgement::{self as wit, Host, HostTree, JudgedItem};
use crate::call::io::TreeItem;
use crate::call::judgement::TreeHandle;
use crate::call::state::CallState;

impl Host for CallState {
    fn rule(&mut self, rulings: Vec<(u64, wit::Ruling)>) -> wasmtime::Result<()> {
        Ok(CallState::rule(self, rulings.into_iter().map(|(index, ruling)| (index, ruling.into())))?)
    }

    fn report(&mut self, checks: Vec<wit::Check>) -> wasmtime::Result<()> {
        Ok(CallState::report(self, checks.into_iter().map(plumbline_core::Check::from))?)
    }
}

impl HostTree for CallState {
    fn next(&mut self, _: Resource<TreeHandle>, max: u32) -> wasmtime::Result<Result<Vec<JudgedItem>, String>> {
        let batch = self.next_of_tree(max)?;
        Ok(batch.map(|items| items.into_iter().map(JudgedItem::from).collect()))
    }

    fn drop(&mut self, _: Resource<TreeHandle>) -> wasmtime::Result<()> {
        self.tree.close();
        Ok(())
    }
}

impl From<(u64, TreeItem)> for JudgedItem {
    fn from((index, given): (u64, TreeItem)) -> Self {
        let TreeItem { set, item, leaf, ruling } = given;
        Self { index, set, item: item.into(), leaf, ruling: ruling.map(wit::Ruling::from) }
    }
}

impl From<Ruling> for wit::Ruling {
    fn from(ruling: Ruling) -> Self {
        let Ruling { class, counts, reason, source } = ruling;
        Self { class, counts, reason, source }
    }
}

impl From<wit::Ruling> for Ruling {
    fn from(ruling: wit::Ruling) -> Self {
        let wit::Ruling { class, counts, reason, source } = ruling;
        Self { class, counts, reason, source }
    }
}

impl From<wit::Check> for plumbline_core::Check {
    fn from(check: wit::Check) -> Self {
        let wit::Check { id, name, outcome, want, got, reason } = check;
        let outcome = match outcome {
            wit::Outcome::Passed => CheckOutcome::Passed,
            wit::Outcome::Failed => CheckOutcome::Failed,
            wit::Outcome::Unknown => CheckOutcome::Unknown,
        };
        Self { id, name, outcome, want, got, reason }
    }
}
