//! Results as text for people, in the modes that scripts use.

use std::io::{self, ErrorKind, Write};

use plumbline_archive::layout::META_CLUSTER_HEALTH;
use plumbline_core::Item;

use crate::error::{AppError, Explain as _};
use crate::report::{self, Health, print_yaml};
use crate::results::{HEALTH, ResultTree, ResultsOptions, View, printed};
use crate::trees::Trees;

/// Maximum bytes of `meta/clusterhealth.json`: enough for 100,000 pods with a message each.
const MAX_HEALTH: u64 = 64 << 20;

/// What [`TextView`] prints of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextMode {
    /// Counts, and the names of failures.
    Report,
    /// Every leaf as one JSON object per line, and files unchanged.
    Detailed {
        /// Whether the contents of files are printed without the paths of their items.
        skip_prefix: bool,
    },
    /// The tree as the archive has it.
    Dump,
    /// The tree, with line breaks and tabs in place of their escape sequences.
    Readable,
}

/// Prints every tree as text, with a blank line between two, and then the health of the cluster.
pub struct TextView<'a, W> {
    options: &'a ResultsOptions,
    mode: TextMode,
    out: &'a mut W,
    /// Whether something was already printed.
    follows: bool,
}

impl<'a, W: Write> TextView<'a, W> {
    /// Creates a view of the results that `options` select.
    pub fn new(options: &'a ResultsOptions, mode: TextMode, out: &'a mut W) -> Self {
        Self { options, mode, out, follows: false }
    }

    fn gap(&mut self) -> Result<(), AppError> {
        if std::mem::replace(&mut self.follows, true) { printed(writeln!(self.out)) } else { Ok(()) }
    }

    fn copy(&mut self, trees: &mut Trees, plugin: &str) -> Result<(), AppError> {
        match self.mode {
            TextMode::Readable => trees.copy(plugin, &mut Readable::new(self.out)),
            _ => trees.copy(plugin, self.out),
        }
    }

    /// Prints the cluster's health if the archive has it: on request by name, or after all plugins.
    fn health(&mut self, trees: &mut Trees) -> Result<(), AppError> {
        let asked = self.options.plugin.as_deref() == Some(HEALTH);
        if self.options.plugin.is_some() && !asked {
            return Ok(());
        }
        let name = trees.name().to_owned();
        if trees.archive().size(META_CLUSTER_HEALTH).is_none() {
            return match asked {
                true => Err(AppError::usage(format!("archive `{name}` has no cluster health report"))
                    .hint("only runs in a cluster have one; `-p` takes the name of a plugin")),
                false => Ok(()),
            };
        }
        let unreadable = format!("failed to read `{META_CLUSTER_HEALTH}` in `{name}`");
        let bytes = trees.archive().read(META_CLUSTER_HEALTH, MAX_HEALTH).usage_error(&unreadable)?;
        if let TextMode::Detailed { .. } = self.mode {
            self.gap()?;
            let end: &[u8] = if bytes.ends_with(b"\n") { b"" } else { b"\n" };
            return printed(self.out.write_all(&bytes).and_then(|()| self.out.write_all(end)));
        }
        let health: Health = serde_json::from_slice(&bytes).usage_error(&unreadable)?;
        self.gap()?;
        printed(match self.mode {
            TextMode::Dump | TextMode::Readable => print_yaml(&health, self.out),
            _ => health.report(self.out),
        })
    }
}

impl<W: Write> View for TextView<'_, W> {
    fn begin(&mut self, input: Option<&str>, _: &mut Trees) -> Result<(), AppError> {
        let Some(input) = input else { return Ok(()) };
        self.gap()?;
        self.follows = false;
        printed(writeln!(self.out, "==> {} <==", report::text::name(input)))
    }

    fn tree(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        self.gap()?;
        let item = &tree.item;
        // The archive has only the whole tree.
        let is_part = self.options.node.is_some() || tree.is_unreadable;
        match self.mode {
            TextMode::Report => {
                let out = &mut *self.out;
                printed(report::summary(item, out))?;
                printed(report::causes_report(item, &tree.causes, out))?;
                printed(report::timeline_report(item, &tree.relations, out))?;
                // Scripts expect the exact text for Sonobuoy's archives.
                if trees.archive().info().plumbline_version.is_some() {
                    printed(report::unknown_report(item, out))?;
                }
                if let Some(verdict) = &tree.verdict {
                    printed(report::verdict_report(verdict, out))?;
                }
            }
            TextMode::Detailed { skip_prefix } => detailed(trees, tree.plugin, item, skip_prefix, self.out)?,
            TextMode::Dump if is_part => printed(print_yaml(item, self.out))?,
            TextMode::Readable if is_part => printed(print_yaml(item, &mut Readable::new(self.out)))?,
            TextMode::Dump | TextMode::Readable => self.copy(trees, tree.plugin)?,
        }
        tree.item.dismantle();
        Ok(())
    }

    fn takes_items(&self, is_large: bool) -> bool {
        is_large && matches!(self.mode, TextMode::Dump | TextMode::Readable)
    }

    fn end(&mut self, trees: &mut Trees) -> Result<(), AppError> {
        self.health(trees)
    }
}

fn detailed(
    trees: &mut Trees,
    plugin: &str,
    item: &Item,
    skip_prefix: bool,
    out: &mut impl Write,
) -> Result<(), AppError> {
    let archive = trees.archive();
    let copy = |file: &str, out: &mut dyn Write| {
        let member = archive.item_file(plugin, file).ok_or_else(|| {
            io::Error::new(ErrorKind::NotFound, format!("the archive has no file `plugins/{plugin}/{file}`"))
        })?;
        let mut reader = archive.file(&member).map_err(io::Error::other)?;
        io::copy(&mut reader, out).map(drop)
    };
    report::detailed(item, skip_prefix, out, copy).map_err(|error| {
        let what = format!("failed to show the details of plugin `{plugin}`");
        match error.kind() {
            // Kinds of errors from reading the archive. All others come from standard output.
            ErrorKind::NotFound | ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::Other => {
                AppError::usage(what).because(&error)
            }
            _ => AppError::printing(what, &error),
        }
    })
}

/// Shows the escapes `\n` and `\t` as line breaks and tabs.
struct Readable<'a, W> {
    out: &'a mut W,
    /// Whether the last byte was a backslash, which is not printed yet.
    backslash: bool,
}

impl<'a, W: Write> Readable<'a, W> {
    fn new(out: &'a mut W) -> Self {
        Self { out, backslash: false }
    }
}

impl<W: Write> Write for Readable<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut shown = Vec::with_capacity(bytes.len() + 1);
        for &byte in bytes {
            match (std::mem::take(&mut self.backslash), byte) {
                (true, b'n') => shown.push(b'\n'),
                (true, b't') => shown.push(b'\t'),
                (before, byte) => {
                    if before {
                        shown.push(b'\\');
                    }
                    if byte == b'\\' {
                        self.backslash = true;
                    } else {
                        shown.push(byte);
                    }
                }
            }
        }
        self.out.write_all(&shown)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Context, Silent};
    use crate::trees::Reprocess;

    #[test]
    fn a_large_tree_is_dumped_without_being_held() {
        let dir = tempfile::tempdir().unwrap();
        let plugin = dir.path().join("plugins/p");
        std::fs::create_dir_all(&plugin).unwrap();
        let text = "name: p\nstatus: passed\nitems:\n- name: \"a\\tb\"\n  status: passed\n";
        std::fs::write(plugin.join("sonobuoy_results.yaml"), text).unwrap();
        let mut trees = Trees::open(&Context::new(Silent), dir.path(), Reprocess::default()).unwrap();
        let options = ResultsOptions::default();
        for (mode, expected) in [(TextMode::Dump, text.to_owned()), (TextMode::Readable, text.replace("\\t", "\t"))] {
            let mut out = Vec::new();
            let mut view = TextView::new(&options, mode, &mut out);
            assert!(view.takes_items(true) && !view.takes_items(false), "{mode:?}");
            let (item, causes, relations) = (Item::default(), Vec::new(), Vec::new());
            let (input, plugin, verdict, is_unreadable, is_streamed) = (None, "p", None, false, true);
            let tree = ResultTree { input, plugin, item, verdict, causes, relations, is_unreadable, is_streamed };
            view.tree(&mut trees, tree).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{mode:?}");
        }
    }

    #[test]
    fn escapes_are_shown_wherever_pieces_end() {
        for piece in 1..12 {
            let mut out = Vec::new();
            let mut readable = Readable::new(&mut out);
            for piece in br"a\nb\tc\\nd\xe".chunks(piece) {
                readable.write_all(piece).unwrap();
            }
            assert_eq!(out, b"a\nb\tc\\\nd\\xe", "in pieces of {piece}");
        }
    }
}
