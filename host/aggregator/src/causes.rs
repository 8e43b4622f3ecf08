//! Causes of failures: a module groups the failed leaves of a plugin (docs/causes.md).

use std::io;
use std::path::Path;

use plumbline_core::rollup::meaning;
use plumbline_core::text::first_chars;
use plumbline_core::{FlatItem, Meta, ModuleLimits, Status};
use plumbline_sandbox::{Entry, ItemSink, ModuleFailure, PluginInfo, ResultSource, Summarize};
use serde_json::{Map, Value};

use crate::modules::{LazyModule, ModuleError, Modules};
use crate::postprocess::RunLog;

/// Name of the module that finds causes: a summarizer of the plugin's bundle, or the built-in one.
const MODULE: &str = "causes";
/// Metadata key with the id of a cause.
pub(crate) const CAUSE: &str = "cause";
/// Metadata key with the text of a cause.
const TEMPLATE: &str = "template";
/// Detail with the numbers of the failures of a cause.
const ITEMS: &str = "items";
/// Maximum length of an id in bytes.
const MAX_ID: usize = 64;
/// Maximum length of a template in characters.
const MAX_TEMPLATE: usize = 1_000;
/// Maximum size of a text that the module reads, in bytes. A longer one loses its middle.
const MAX_TEXT: usize = 64 << 10;

/// Finds the causes of failures with a module.
#[derive(Debug, Clone)]
pub struct CauseFinder {
    module: LazyModule,
    limits: ModuleLimits,
}

/// Failures with the same cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CauseGroup {
    /// Id of the cause, which is the same in each run: 1 to 64 characters of `a-z`, `0-9` and `-`.
    pub id: String,
    /// Text that the failures have in common.
    pub template: String,
    /// Numbers of the failures, from 0 in reading order. The module can give any number.
    pub failures: Vec<usize>,
}

/// Error while finding causes.
#[derive(Debug, thiserror::Error)]
pub enum CauseError {
    /// The module is unusable.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The failures could not be spooled to a temporary file.
    #[error("failed to keep the failures in a temporary file: {0}")]
    Spool(#[from] io::Error),
    /// The call of the module failed.
    #[error(transparent)]
    Call(#[from] ModuleFailure),
    /// The module emitted a cause with an invalid id.
    #[error("module `{module}` emitted the cause `{id}`: an id has 1 to 64 characters of `a-z`, `0-9` and `-`")]
    Id {
        /// Name of the module.
        module: String,
        /// Id, truncated to 64 characters.
        id: String,
    },
}

impl CauseFinder {
    /// Finds the module `causes` in `bundle`, or else the built-in one, if there is one.
    pub fn new(modules: &Modules, bundle: Option<&Path>, limits: &ModuleLimits) -> Result<Option<Self>, ModuleError> {
        match modules.summarizer(bundle, MODULE) {
            Ok(module) => Ok(Some(Self { module, limits: limits.clone() })),
            Err(ModuleError::Unknown { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn module(&self) -> &LazyModule {
        &self.module
    }

    /// Groups `failures` of `plugin` by cause. Blocking.
    ///
    /// # Errors
    /// When the module fails, or breaks a rule. There are no partial results.
    pub fn find(
        &self,
        plugin: &PluginInfo,
        failures: impl Iterator<Item = io::Result<Entry>> + Send + 'static,
    ) -> Result<Vec<CauseGroup>, CauseError> {
        let module = self.module.wait()?;
        let name = self.module.name();
        let mut groups = Groups::default();
        let mut log = RunLog::new(&plugin.name, &name);
        let call = Summarize { plugin, results: Box::new(Failures(failures)), limits: &self.limits };
        module.summarize(call, &mut groups, &mut log).map_err(|failure| log.explain(failure))?;
        match groups.invalid {
            Some(id) => Err(CauseError::Id { module: name, id }),
            None => Ok(groups.found),
        }
    }
}

/// Returns a failed leaf for [`CauseFinder::find`]. `set` is its result set. Its status is the one
/// that it counts as. Details that are not texts are left out, and long texts lose their middle.
pub fn failed_leaf(set: &str, name: &str, status: &Status, meta: &Meta, details: &Map<String, Value>) -> Entry {
    let texts = details.iter().filter_map(|(key, value)| Some((key.clone(), cut(value.as_str()?).into())));
    let item = FlatItem {
        depth: 0,
        name: name.to_owned(),
        status: Some(meaning(status)),
        meta: meta.clone(),
        details: texts.collect(),
    };
    Entry { set: set.to_owned(), item }
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(MAX_TEXT / 2), text.ceil_char_boundary(text.len() - MAX_TEXT / 2));
    [text.get(..head), Some("\n"), text.get(tail..)].into_iter().flatten().collect()
}

struct Failures<I>(I);

impl<I: Iterator<Item = io::Result<Entry>> + Send> ResultSource for Failures<I> {
    fn next(&mut self) -> io::Result<Option<Entry>> {
        self.0.next().transpose()
    }
}

/// Receives the items of the module. Items without a cause are ignored.
#[derive(Default)]
struct Groups {
    found: Vec<CauseGroup>,
    /// The first invalid id.
    invalid: Option<String>,
}

impl ItemSink for Groups {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        let Some(id) = item.meta.get(CAUSE) else { return Ok(()) };
        if !is_id(id) {
            self.invalid.get_or_insert_with(|| first_chars(id, MAX_ID).to_owned());
            return Ok(());
        }
        let template = item.meta.get(TEMPLATE).unwrap_or(&item.name);
        let numbers = item.details.get(ITEMS).and_then(Value::as_array).into_iter().flatten();
        let numbers = numbers.filter_map(|number| usize::try_from(number.as_u64()?).ok());
        self.found.push(CauseGroup {
            id: id.clone(),
            template: first_chars(template, MAX_TEMPLATE).to_owned(),
            failures: numbers.collect(),
        });
        Ok(())
    }
}

fn is_id(id: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_ID).contains(&id.len()) && id.bytes().all(is_valid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_text_loses_its_middle() {
        let details = json!({"failure": format!("start{}end", "ä".repeat(MAX_TEXT)), "pod": {"kind": "Pod"}});
        let Value::Object(details) = details else { unreachable!() };
        let leaf = failed_leaf("n1", "t", &Status::Failed, &Meta::new(), &details);
        let text = leaf.item.details["failure"].as_str().unwrap();
        assert!(text.starts_with("start") && text.ends_with("end") && text.len() <= MAX_TEXT + 2, "{}", text.len());
        assert_eq!(leaf.item.details.len(), 1);
    }

    #[test]
    fn causes_that_a_module_emits_are_checked() {
        let item = |cause: &str| FlatItem {
            name: "t".into(),
            meta: [(CAUSE.to_owned(), cause.to_owned())].into(),
            details: json!({"items": [0, 7, -1, "x"]}).as_object().unwrap().clone(),
            ..FlatItem::default()
        };
        let mut groups = Groups::default();
        for item in [FlatItem::default(), item("0a-b"), item("no id"), item("")] {
            groups.item(item).unwrap();
        }
        assert_eq!(groups.found, [CauseGroup { id: "0a-b".into(), template: "t".into(), failures: vec![0, 7] }]);
        assert_eq!(groups.invalid.as_deref(), Some("no id"));
    }
}
