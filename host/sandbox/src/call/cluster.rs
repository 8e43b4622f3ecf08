//! The objects of the cluster that a check reads.

use std::collections::{HashMap, VecDeque};

use crate::call::emit::ENTRY_BYTES;
use crate::call::io::{ClusterReader, ObjectQuery};
use crate::call::limits::{Clock, Meter};
use crate::failure::{MAX_SENTENCE, Stop, cut, quoted};

/// The maximum number of lists that are open at the same time, as in the WIT. Each may hold the
/// rest of a page.
const MAX_LISTS: usize = 16;
/// The size in bytes after which a batch ends, as in the WIT.
const BATCH_BYTES: usize = 1 << 20;
/// The maximum length in bytes of each string of a query.
const MAX_TEXT: usize = 4 << 10;
/// The maximum length in bytes of a text that a sentence quotes.
const MAX_QUOTED: usize = 100;

/// The type behind the WIT resource `objects`. The number of a handle is that of the list.
#[derive(Debug)]
#[expect(unreachable_pub, reason = "the generated bindings name it in a `pub use`; their module keeps it inside")]
pub struct ObjectsHandle;

/// What a call may read from the cluster.
pub(crate) struct Cluster {
    source: Source,
    lists: HashMap<u32, List>,
    next: u32,
}

enum Source {
    /// The call is that of another role.
    OtherRole,
    /// The definition grants no objects.
    NotGranted,
    Reader(Box<dyn ClusterReader>),
}

struct List {
    query: ObjectQuery,
    /// Objects that the module has not taken yet.
    waiting: VecDeque<String>,
    state: ListState,
}

enum ListState {
    /// The page with this token is next. `None` stands for the first page.
    Open(Option<String>),
    End,
    Failed(String),
}

impl Cluster {
    pub(crate) fn of_another_role() -> Self {
        Self { source: Source::OtherRole, lists: HashMap::new(), next: 0 }
    }

    /// Creates the state for a check. Without a reader, the definition grants no objects.
    pub(crate) fn of_a_check(reader: Option<Box<dyn ClusterReader>>) -> Self {
        Self { source: reader.map_or(Source::NotGranted, Source::Reader), ..Self::of_another_role() }
    }

    /// Opens a list. No request is made yet.
    pub(crate) fn list(&mut self, query: ObjectQuery, clock: &Clock) -> Result<Result<u32, String>, Stop> {
        clock.check()?;
        if let Err(reason) = self.source.reader(&query) {
            return Ok(Err(reason));
        }
        if self.lists.len() >= MAX_LISTS {
            return Ok(Err(format!("{MAX_LISTS} lists are open: drop one before you open another")));
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.lists.insert(number, List { query, waiting: VecDeque::new(), state: ListState::Open(None) });
        Ok(Ok(number))
    }

    /// Returns the next objects of a list, or none at the end. The inner error is passed to the
    /// module.
    pub(crate) fn next(
        &mut self,
        list: u32,
        clock: &Clock,
        meter: &Meter,
    ) -> Result<Result<Vec<String>, String>, Stop> {
        clock.check()?;
        let Some(list) = self.lists.get_mut(&list) else { return Ok(Err("the list is closed".to_owned())) };
        while list.waiting.is_empty() {
            let token = match &list.state {
                ListState::Open(token) => token.clone(),
                ListState::End => return Ok(Ok(Vec::new())),
                ListState::Failed(reason) => return Ok(Err(reason.clone())),
            };
            let page = match self.source.reader(&list.query) {
                Ok(reader) => reader.list(&list.query, token.as_deref()),
                Err(reason) => Err(reason),
            };
            match page {
                Ok(page) => {
                    meter.charge(
                        page.objects.iter().map(|object| size(object)).sum::<u64>().saturating_add(ENTRY_BYTES),
                    )?;
                    list.waiting = page.objects.into();
                    list.state = page.next.map_or(ListState::End, |token| ListState::Open(Some(token)));
                }
                Err(reason) => list.state = ListState::Failed(cut(&reason, MAX_SENTENCE)),
            }
            clock.check()?;
        }
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES
            && let Some(object) = list.waiting.pop_front()
        {
            bytes += object.len();
            batch.push(object);
        }
        Ok(Ok(batch))
    }

    pub(crate) fn close(&mut self, list: u32) {
        self.lists.remove(&list);
    }

    /// Returns an object, or `None` if it does not exist. The inner error is passed to the module.
    pub(crate) fn get(
        &mut self,
        query: &ObjectQuery,
        name: &str,
        clock: &Clock,
        meter: &Meter,
    ) -> Result<Result<Option<String>, String>, Stop> {
        clock.check()?;
        let reader = match self.source.reader(query) {
            Ok(reader) => reader,
            Err(reason) => return Ok(Err(reason)),
        };
        if name.is_empty() || name.len() > MAX_TEXT {
            return Ok(Err(format!("the name of an object has 1 to {MAX_TEXT} bytes")));
        }
        let object = reader.get(query, name).map_err(|reason| cut(&reason, MAX_SENTENCE));
        if let Ok(object) = &object {
            meter.charge(object.as_ref().map_or(ENTRY_BYTES, |object| size(object)))?;
        }
        Ok(object)
    }
}

impl Source {
    fn reader(&mut self, query: &ObjectQuery) -> Result<&mut dyn ClusterReader, String> {
        let ObjectQuery { api_version, resource, namespace, label_selector, field_selector } = query;
        let namespace = namespace.as_deref().unwrap_or_default();
        let texts = [api_version, resource, namespace, label_selector, field_selector];
        if texts.into_iter().any(|text| text.len() > MAX_TEXT) {
            return Err(format!("a text of the query has more than {MAX_TEXT} bytes"));
        }
        match self {
            Self::Reader(reader) => Ok(&mut **reader),
            Self::OtherRole => Err("only a check can read objects of the cluster".to_owned()),
            Self::NotGranted => Err(format!(
                "the definition grants no objects of the cluster: add {} of {} to `plumbline.grants.kubernetes`",
                quoted(resource, MAX_QUOTED),
                quoted(api_version, MAX_QUOTED)
            )),
        }
    }
}

fn size(object: &str) -> u64 {
    (object.len() as u64).saturating_add(ENTRY_BYTES)
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
