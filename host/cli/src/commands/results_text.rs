//! Prints results for people, in the modes that scripts use.

use std::io::{self, ErrorKind, Write};

use plumbline_app::report::{self, Health, print_yaml};
use plumbline_app::results::{HEALTH, ResultTree, View, printed};
use plumbline_app::trees::Trees;
use plumbline_app::{AppError, Explain as _};
use plumbline_archive::layout::META_CLUSTER_HEALTH;
use plumbline_core::Item;

use crate::commands::results_args::{Mode, ResultsArgs};

/// Maximum bytes of `meta/clusterhealth.json`: enough for 100,000 pods with a message each.
const MAX_HEALTH: u64 = 64 << 20;

/// Prints every tree in the requested mode, with a blank line between two.
pub(super) struct Text<'a, W> {
    args: &'a ResultsArgs,
    out: &'a mut W,
    /// Whether something was already printed.
    follows: bool,
}

impl<'a, W: Write> Text<'a, W> {
    pub(super) fn new(args: &'a ResultsArgs, out: &'a mut W) -> Self {
        Self { args, out, follows: false }
    }

    fn gap(&mut self) -> Result<(), AppError> {
        if std::mem::replace(&mut self.follows, true) { printed(writeln!(self.out)) } else { Ok(()) }
    }
}

impl<W: Write> View for Text<'_, W> {
    fn begin(&mut self, input: Option<&str>, _: &mut Trees) -> Result<(), AppError> {
        let Some(input) = input else { return Ok(()) };
        self.gap()?;
        self.follows = false;
        printed(writeln!(self.out, "==> {} <==", report::text::name(input)))
    }

    fn tree(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        self.gap()?;
        let (args, out) = (self.args, &mut *self.out);
        let item = &tree.item;
        match args.mode {
            Mode::Report => {
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
            Mode::Detailed => detailed(trees, tree.plugin, item, args, out)?,
            Mode::Dump if args.node.is_some() || tree.is_unreadable => printed(print_yaml(item, out))?,
            Mode::Dump => trees.copy(tree.plugin, out)?,
            Mode::Readable if args.node.is_some() || tree.is_unreadable => {
                printed(print_yaml(item, &mut Readable::new(out)))?;
            }
            Mode::Readable => trees.copy(tree.plugin, &mut Readable::new(out))?,
            // These modes are data formats, which are printed elsewhere.
            Mode::Junit | Mode::Markdown | Mode::Html => {}
        }
        tree.item.dismantle();
        Ok(())
    }

    fn takes_items(&self, is_large: bool) -> bool {
        is_large && matches!(self.args.mode, Mode::Dump | Mode::Readable)
    }

    fn items(&mut self, trees: &mut Trees, tree: ResultTree<'_>) -> Result<(), AppError> {
        self.gap()?;
        let out = &mut *self.out;
        match self.args.mode {
            Mode::Readable => trees.copy(tree.plugin, &mut Readable::new(out)),
            _ => trees.copy(tree.plugin, out),
        }
    }

    fn end(&mut self, trees: &mut Trees) -> Result<(), AppError> {
        self.health(trees)
    }
}

impl<W: Write> Text<'_, W> {
    /// Prints the cluster's health if the archive has it: on request by name, or after all plugins.
    fn health(&mut self, trees: &mut Trees) -> Result<(), AppError> {
        let asked = self.args.plugin.as_deref() == Some(HEALTH);
        if self.args.plugin.is_some() && !asked {
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
        let health = match self.args.mode {
            Mode::Detailed => None,
            _ => Some(serde_json::from_slice::<Health>(&bytes).usage_error(&unreadable)?),
        };
        self.gap()?;
        printed(match (health, self.args.mode) {
            (None, _) => {
                let end: &[u8] = if bytes.ends_with(b"\n") { b"" } else { b"\n" };
                self.out.write_all(&bytes).and_then(|()| self.out.write_all(end))
            }
            (Some(health), Mode::Dump | Mode::Readable) => print_yaml(&health, self.out),
            (Some(health), _) => health.report(self.out),
        })
    }
}

fn detailed(
    trees: &mut Trees,
    plugin: &str,
    item: &Item,
    args: &ResultsArgs,
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
    report::detailed(item, args.skip_prefix, out, copy).map_err(|error| {
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
    use clap::Parser as _;
    use plumbline_app::Context;
    use plumbline_app::context::Silent;
    use plumbline_app::trees::Reprocess;

    use super::*;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: ResultsArgs,
    }

    #[test]
    fn a_large_tree_is_dumped_without_being_held() {
        let dir = tempfile::tempdir().unwrap();
        let plugin = dir.path().join("plugins/p");
        std::fs::create_dir_all(&plugin).unwrap();
        let text = "name: p\nstatus: passed\nitems:\n- name: \"a\\tb\"\n  status: passed\n";
        std::fs::write(plugin.join("sonobuoy_results.yaml"), text).unwrap();
        let mut trees = Trees::open(&Context::new(Silent), dir.path(), Reprocess::default()).unwrap();
        for (mode, expected) in [("dump", text.to_owned()), ("readable", text.replace("\\t", "\t"))] {
            let args = Cli::parse_from(["results", "--mode", mode, "archive"]).args;
            let mut out = Vec::new();
            let mut view = Text::new(&args, &mut out);
            assert!(view.takes_items(true) && !view.takes_items(false), "{mode}");
            let (item, causes, relations) = (Item::default(), Vec::new(), Vec::new());
            let (input, verdict, is_unreadable) = (None, None, false);
            view.items(&mut trees, ResultTree { input, plugin: "p", item, verdict, causes, relations, is_unreadable })
                .unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{mode}");
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
