//! The imports of modules: `input`, `output`, `types`, `log`, `results`, `judgement`, `ownership`,
//! `cluster`, `network` and `progress`.

use plumbline_core::{CheckOutcome, FlatItem, NOT_READ, Ruling, Status};
use serde_json::Value;
use wasmtime::component::Resource;

use super::bindings::check::plumbline::plugin::cluster::{self, HostObjects, Query};
use super::bindings::check::plumbline::plugin::{network, ownership, progress};
use super::bindings::judge::plumbline::plugin::judgement::{self as wit, HostTree, JudgedItem};
use super::bindings::post_processor::plumbline::plugin::input::{self, HostFile};
use super::bindings::post_processor::plumbline::plugin::log::{self, Level};
use super::bindings::post_processor::plumbline::plugin::{output, types};
use super::bindings::summarizer::plumbline::plugin::results::{self, Entry, HostItems};
use crate::call::cluster::ObjectsHandle;
use crate::call::input::{FileHandle, ItemsHandle};
use crate::call::io::{CheckProgress, LogLevel, ObjectQuery, TreeItem};
use crate::call::judgement::TreeHandle;
use crate::call::network::{Connection, NetworkFailure, Trust, WebRequest, WebResponse};
use crate::call::state::CallState;
use crate::wasi::Attributes;

impl results::Host for CallState {}

impl HostItems for CallState {
    fn next(&mut self, _: Resource<ItemsHandle>, max: u32) -> wasmtime::Result<Result<Vec<Entry>, String>> {
        let batch = self.results.next(max, &self.clock)?;
        Ok(batch.map(|entries| {
            entries.into_iter().map(|entry| Entry { set: entry.set, item: entry.item.into() }).collect()
        }))
    }

    fn drop(&mut self, _: Resource<ItemsHandle>) -> wasmtime::Result<()> {
        self.results.close();
        Ok(())
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
            // The contract does not have this status.
            Status::NotRead => Self::Custom(NOT_READ.to_owned()),
            Status::Custom(text) => Self::Custom(text),
        }
    }
}

impl input::Host for CallState {}

impl HostFile for CallState {
    fn path(&mut self, file: Resource<FileHandle>) -> wasmtime::Result<String> {
        Ok(self.files.path(file.rep()).unwrap_or_default().to_owned())
    }

    fn size(&mut self, file: Resource<FileHandle>) -> wasmtime::Result<u64> {
        Ok(self.files.size(file.rep()).unwrap_or_default())
    }

    fn read(&mut self, file: Resource<FileHandle>, max: u32) -> wasmtime::Result<Result<Vec<u8>, String>> {
        Ok(self.files.read(file.rep(), max, &self.clock)?)
    }

    fn drop(&mut self, file: Resource<FileHandle>) -> wasmtime::Result<()> {
        self.files.close(file.rep());
        Ok(())
    }
}

impl wit::Host for CallState {
    fn rule(&mut self, rulings: Vec<(u64, wit::Ruling)>) -> wasmtime::Result<()> {
        let ruling = |(index, ruling)| {
            let wit::Ruling { class, counts, reason, source } = ruling;
            (index, Ruling { class, counts, reason, source })
        };
        Ok(CallState::rule(self, rulings.into_iter().map(ruling))?)
    }

    fn report(&mut self, checks: Vec<wit::Check>) -> wasmtime::Result<()> {
        Ok(CallState::report(self, checks.into_iter().map(plumbline_core::Check::from))?)
    }
}

impl HostTree for CallState {
    fn next(&mut self, _: Resource<TreeHandle>, max: u32) -> wasmtime::Result<Result<Vec<JudgedItem>, String>> {
        let batch = self.next_of_tree(max)?;
        Ok(batch.map(|items| items.into_iter().map(judged_item).collect()))
    }

    fn drop(&mut self, _: Resource<TreeHandle>) -> wasmtime::Result<()> {
        self.tree.close();
        Ok(())
    }
}

fn judged_item((index, given): (u64, TreeItem)) -> JudgedItem {
    let TreeItem { set, item, leaf, ruling } = given;
    let ruling = ruling.map(|Ruling { class, counts, reason, source }| wit::Ruling { class, counts, reason, source });
    JudgedItem { index, set, item: item.into(), leaf, ruling }
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

impl cluster::Host for CallState {
    fn list(&mut self, query: Query) -> wasmtime::Result<Result<Resource<ObjectsHandle>, String>> {
        let Query { api_version, resource, namespace, label_selector, field_selector } = query;
        let query = ObjectQuery { api_version, resource, namespace, label_selector, field_selector };
        Ok(self.cluster.list(query, &self.clock)?.map(Resource::new_own))
    }

    fn get(
        &mut self,
        api_version: String,
        resource: String,
        namespace: Option<String>,
        name: String,
    ) -> wasmtime::Result<Result<Option<String>, String>> {
        let query = ObjectQuery { api_version, resource, namespace, ..ObjectQuery::default() };
        Ok(self.cluster.get(&query, &name, &self.clock, &self.meter)?)
    }
}

impl HostObjects for CallState {
    fn next(&mut self, list: Resource<ObjectsHandle>) -> wasmtime::Result<Result<Vec<String>, String>> {
        Ok(self.cluster.next(list.rep(), &self.clock, &self.meter)?)
    }

    fn drop(&mut self, list: Resource<ObjectsHandle>) -> wasmtime::Result<()> {
        self.cluster.close(list.rep());
        Ok(())
    }
}

impl ownership::Host for CallState {
    fn read(&mut self, path: String) -> wasmtime::Result<Result<Option<ownership::Attributes>, String>> {
        let attributes = |Attributes { mode, uid, gid }| ownership::Attributes { mode, uid, gid };
        let found = self.directories.attributes(&path, &self.clock, &self.meter)?;
        Ok(found.map(|found| found.map(attributes)))
    }
}

impl network::Host for CallState {
    fn send(&mut self, request: network::Request) -> wasmtime::Result<Result<network::Response, network::Failure>> {
        let network::Request { method, url, headers, body, trust, timeout_ms } = request;
        let trust = match trust {
            network::Trust::System => Trust::System,
            network::Trust::Certificates(pem) => Trust::Certificates(pem),
            network::Trust::Any => Trust::Any,
        };
        let request = WebRequest { method, url, headers, body, trust };
        let response = |WebResponse { status, headers, body, certificate, address }| network::Response {
            status,
            headers,
            body,
            certificate,
            address,
        };
        let answer = self.reach.request(request, timeout_ms, &self.clock, &self.meter)?;
        Ok(answer.map(response).map_err(network::Failure::from))
    }

    fn resolve(&mut self, name: String) -> wasmtime::Result<Result<Vec<String>, network::Failure>> {
        Ok(self.reach.resolve(&name, &self.clock, &self.meter)?.map_err(network::Failure::from))
    }

    fn connect(
        &mut self,
        targets: Vec<network::Target>,
        attempt_ms: u32,
        wait_ms: u32,
    ) -> wasmtime::Result<Vec<Result<network::Connection, network::Failure>>> {
        let targets = targets.into_iter().map(|network::Target { host, port }| (host, port)).collect();
        let connection = |Connection { address, took }| network::Connection {
            address,
            microseconds: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        };
        let results = self.reach.connect(targets, [attempt_ms, wait_ms], &self.clock, &self.meter)?;
        Ok(results.into_iter().map(|result| result.map(connection).map_err(network::Failure::from)).collect())
    }
}

impl From<NetworkFailure> for network::Failure {
    fn from(failure: NetworkFailure) -> Self {
        match failure {
            NetworkFailure::Denied(reason) => Self::Denied(reason),
            NetworkFailure::NotFound(reason) => Self::NotFound(reason),
            NetworkFailure::Refused(reason) => Self::Refused(reason),
            NetworkFailure::Timeout(reason) => Self::Timeout(reason),
            NetworkFailure::Tls(reason) => Self::Tls(reason),
            NetworkFailure::Other(reason) => Self::Other(reason),
        }
    }
}

impl progress::Host for CallState {
    fn report(&mut self, completed: u64, total: u64, message: String) -> wasmtime::Result<()> {
        Ok(self.report_progress(CheckProgress { completed, total, message })?)
    }
}

impl log::Host for CallState {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        self.clock.check()?;
        let level = match level {
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warning => LogLevel::Warning,
            Level::Error => LogLevel::Error,
        };
        Ok(self.lines.write(level, &message)?)
    }
}

impl types::Host for CallState {}

impl output::Host for CallState {
    fn emit(&mut self, items: Vec<types::Item>) -> wasmtime::Result<()> {
        Ok(CallState::emit(self, items)?)
    }
}
