//! Reruns: plugins that run failed tests of another plugin again. Their tests are selected by a Go
//! regular expression.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_core::definition::{Definition, Reruns};
use plumbline_core::{PluginName, Status, go_quote};

use crate::dispatcher::Launch;
use crate::postprocess::leaves;
use crate::state::State;

/// Maximum size of the expression: 100 KiB, which is about 700 names. Linux allows 128 KiB for an
/// environment variable, including its name.
const MAX_FOCUS: usize = 100 << 10;

/// A rerun to launch.
#[derive(Debug, Clone)]
pub(super) struct Rerun {
    pub(super) reruns: Reruns,
    /// Path of the other plugin's result tree.
    pub(super) tree: PathBuf,
}

/// Tests to rerun.
#[derive(Debug, PartialEq, Eq)]
enum Focus {
    /// An expression that matches these tests.
    On { expression: String, tests: usize },
    /// No tests, with the reason.
    Nothing(String),
}

/// Decision about a rerun.
pub(super) enum Ready {
    /// Launch it with this definition.
    Launch(Launch),
    /// Skip it, for this reason: there is nothing to do.
    Skip(String),
    /// Fail it, for this reason: the failed tests could not be determined.
    Fail(String),
}

impl Rerun {
    /// Waits for the other plugin's tree, and sets the expression for its failed tests in the
    /// environment of `launch`.
    pub(super) async fn ready(&self, launch: Launch, state: &State) -> Ready {
        let other = &self.reruns.plugin;
        if let Some(reason) = self.settled(state).await {
            return Ready::Skip(reason);
        }
        let (reruns, tree) = (self.reruns.clone(), self.tree.clone());
        let read = tokio::task::spawn_blocking(move || focus(&reruns, &tree))
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        match read {
            Ok(Focus::On { expression, tests }) => {
                tracing::info!(plugin = %launch.definition.name, tests, "runs again what failed in `{other}`");
                Ready::Launch(Launch {
                    definition: Arc::new(focused(&launch.definition, &self.reruns, &expression)),
                    ..launch
                })
            }
            Ok(Focus::Nothing(reason)) => Ready::Skip(reason),
            Err(error) => {
                Ready::Fail(format!("what failed in plugin `{other}` cannot be read from its result tree: {error}"))
            }
        }
    }

    /// Waits until the other plugin is complete. Returns the reason if it is already known that
    /// there is nothing to rerun.
    async fn settled(&self, state: &State) -> Option<String> {
        let other = &self.reruns.plugin;
        let mut changes = state.changes();
        loop {
            changes.mark_unchanged();
            let settled = state.read(|ledger| {
                if let Some(why) = ledger.skipped(other) {
                    return Some(Some(format!("plugin `{other}` was skipped: {why}")));
                }
                ledger.plugin_result(other)?;
                let error = ledger.keys_of(other).find_map(|key| ledger.error(key));
                Some(error.map(|error| {
                    format!("plugin `{other}` has no results that could tell what failed: {}", error.error)
                }))
            });
            match settled {
                Some(reason) => return reason,
                None if changes.changed().await.is_err() => return std::future::pending().await,
                None => {}
            }
        }
    }
}

/// Returns the definition with the expression in its environment. Nothing else changes, because in
/// a cluster its name identifies it.
fn focused(definition: &Definition, reruns: &Reruns, expression: &str) -> Definition {
    let spec = definition.spec.with_variable(&reruns.focus, expression, &reruns.clear);
    Definition { spec, ..definition.clone() }
}

/// Returns the failed tests in the tree at `tree`. The same tree always yields the same expression,
/// so a resumed rerun is the one that was launched.
fn focus(reruns: &Reruns, tree: &Path) -> io::Result<Focus> {
    let other: &PluginName = &reruns.plugin;
    let mut names = BTreeSet::new();
    let (mut bytes, mut failed) = (0_usize, 0_u64);
    let (mut fits, mut unread) = (true, false);
    leaves(BufReader::new(File::open(tree)?), |leaf| {
        let bad = matches!(leaf.status, Status::Failed | Status::Timeout);
        if leaf.is_no_test || !bad {
            unread |= leaf.is_no_test && (bad || leaf.status == Status::Unknown);
            return true;
        }
        failed += 1;
        let Some(name) = leaf.name else {
            fits = false;
            return true;
        };
        let plain = name.trim_start();
        let name = go_quote(plain.strip_prefix(reruns.strip.as_str()).unwrap_or(plain).trim());
        // An empty expression would match every test.
        if fits && !name.is_empty() && !names.contains(&name) {
            bytes = bytes.saturating_add(name.len() + 1);
            fits = bytes <= MAX_FOCUS + 1;
            names.insert(name);
        }
        true
    })?;
    if !fits {
        return Ok(Focus::Nothing(format!(
            "{failed} tests failed in `{other}`, and their names take more than {} KiB, which is more than a variable holds",
            MAX_FOCUS >> 10
        )));
    }
    if names.is_empty() && unread {
        return Ok(Focus::Nothing(format!(
            "which tests failed in `{other}` is not known: not all of its results could be read"
        )));
    }
    if names.is_empty() {
        return Ok(Focus::Nothing(format!("no test failed in `{other}`")));
    }
    let expression = names.iter().map(String::as_str).collect::<Vec<_>>().join("|");
    Ok(Focus::On { expression, tests: names.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reruns() -> Reruns {
        Reruns {
            plugin: "e2e".parse().unwrap(),
            focus: "E2E_FOCUS".to_owned(),
            clear: Vec::new(),
            strip: "[It] ".to_owned(),
        }
    }

    fn of(leaves: &[(&str, &str)]) -> Focus {
        let mut text = String::from("name: e2e\nstatus: failed\nmeta:\n  type: summary\nitems:\n");
        for (name, status) in leaves {
            text.push_str(&format!("- name: {}\n  status: {status}\n", serde_json::json!(name)));
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tree.yaml");
        std::fs::write(&path, text).unwrap();
        focus(&reruns(), &path).unwrap()
    }

    #[test]
    fn names_are_stripped_quoted_and_joined() {
        let focus = of(&[
            ("[It] [sig-a] b (c)", "failed"),
            ("[sig-z] late", "timeout"),
            ("[It] fine", "passed"),
            (" [sig-a] b (c) ", "failed"),
            ("[It] ", "failed"),
            ("left out", "skipped"),
        ]);
        let expression = r"\[sig-a\] b \(c\)|\[sig-z\] late".to_owned();
        assert_eq!(focus, Focus::On { expression, tests: 2 });
    }

    #[test]
    fn results_that_could_not_be_read_are_not_taken_for_good_ones() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tree.yaml");
        let tree = "name: e2e\nstatus: unknown\nitems:\n- name: junit_01.xml\n  status: unknown\n  meta:\n    error: it ends early\n";
        std::fs::write(&path, tree).unwrap();
        let Focus::Nothing(reason) = focus(&reruns(), &path).unwrap() else { panic!("there are no tests") };
        assert_eq!(reason, "which tests failed in `e2e` is not known: not all of its results could be read");
    }

    #[test]
    fn nothing_and_too_much_are_reasons() {
        assert_eq!(of(&[("a", "passed")]), Focus::Nothing("no test failed in `e2e`".to_owned()));
        assert_eq!(of(&[]), Focus::Nothing("no test failed in `e2e`".to_owned()));
        let many: Vec<String> = (0..2_000).map(|n| format!("test {n:04} {}", "x".repeat(60))).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "failed")).collect();
        let Focus::Nothing(reason) = of(&many) else { panic!("it fits") };
        assert!(reason.starts_with("2000 tests failed in `e2e`"), "{reason}");
        let fits = of(&many[..1_400]);
        assert!(matches!(fits, Focus::On { tests: 1_400, expression } if expression.len() <= MAX_FOCUS));
    }
}
