//! Every text in the source that has at least three words, with what it is for: an error, a hint, a
//! log line. There is one snapshot per crate, so that one reading of them is a reading of all
//! messages. Errors with a type are also in the snapshot `messages` of their crate, with values.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The crates whose texts are messages.
#[rustfmt::skip]
const CRATES: &[&str] = &[
    "aggregator", "app", "archive", "author", "bundle", "cli", "conformance", "core", "facts", "kubernetes",
    "phonehome", "registry", "sandbox", "telemetry", "worker",
];

/// Directories and files with other texts: tests and their data.
const OTHERS: &[&str] =
    &["tests", "snapshots", "machines", "args/examples.rs", "args/pages.rs", "args/prose.rs", "args/reference.rs"];

/// Calls that say what a text among their arguments is for.
#[rustfmt::skip]
const CALLS: &[(&str, &str)] = &[
    ("::usage", USAGE), (".usage_error", USAGE), ("::system", "system error"), (".system_error", "system error"),
    ("::failed", "failure"), ("::printing", "system error"),
    ("ClusterError::new", "failed to"), ("ClusterError::api", "failed to"), (".of", "failed to"), (".cause", "cause"),
    (".hint", "hint"), (".hint_if", "hint"), (".hint_more", "hint"), (".warning", "warning"), (".note", "note"),
    (".progress", "progress"), ("error!", "log error"), ("warn!", "log warning"), ("info!", "log info"), ("debug!", "log debug"),
];

/// What the calls that make an error that the user caused are for.
const USAGE: &str = "usage error";

#[test]
fn every_text_is_in_the_catalogue() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut usage, mut without_hint) = (0, Vec::new());
    for name in CRATES {
        let mut files = Vec::new();
        sources(&host.join(name).join("src"), &mut files);
        files.sort();
        let mut catalogue = String::new();
        for file in files {
            let mut found = Found::default();
            found.walk(fs::read_to_string(&file).unwrap().parse().unwrap(), "text");
            if !found.texts.is_empty() {
                let shown = file.strip_prefix(&host).unwrap().to_str().unwrap().replace('\\', "/");
                writeln!(catalogue, "{shown}\n{}", found.texts).unwrap();
            }
            usage += found.usage;
            without_hint.extend(found.without_hint);
        }
        insta::assert_snapshot!(format!("messages_of_{name}"), catalogue);
    }
    assert!(usage > 150, "{usage}");
    assert!(without_hint.len() * 10 <= usage, "of {usage}, these have no hint: {without_hint:#?}");
}

/// Collects the source files below `path`, without tests.
fn sources(path: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if OTHERS.iter().any(|other| path.ends_with(other)) {
            continue;
        }
        if path.is_dir() {
            sources(&path, files);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && name != "messages.rs" {
            files.push(path);
        }
    }
}

#[derive(Default)]
struct Found {
    texts: String,
    /// The number of errors that the user caused.
    usage: usize,
    /// Those of them without a hint. One that is stored in a variable may get its hint later.
    without_hint: Vec<String>,
}

impl Found {
    /// Adds the texts in `stream`, in the order of the source. `purpose` is that of the call around it.
    fn walk(&mut self, stream: TokenStream, purpose: &'static str) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        for (at, tree) in trees.iter().enumerate() {
            match tree {
                TokenTree::Literal(literal) => {
                    if let Some(text) = unquoted(&literal.to_string()).filter(|text| text.trim().split(' ').count() > 2)
                    {
                        writeln!(self.texts, "  {purpose}: {}", text.replace('\n', "\n    ")).unwrap();
                    }
                }
                TokenTree::Group(group) => {
                    let before = before(&trees[..at]);
                    let call = CALLS.iter().find(|(call, _)| before.ends_with(call));
                    if call.is_some_and(|(_, purpose)| *purpose == USAGE) {
                        self.count(&trees[at + 1..], &group.to_string());
                    }
                    let attribute = group.delimiter() == Delimiter::Bracket && before.ends_with(['#', '!']);
                    match (call, error_attribute(group.stream())) {
                        _ if before.ends_with("mod tests") => {}
                        (_, Some(message)) if attribute => self.walk(message, "error"),
                        _ if attribute && !before.ends_with("vec!") => {}
                        (Some((_, purpose)), _) => self.walk(group.stream(), purpose),
                        _ if before.contains("fn hint ") => self.walk(group.stream(), "hint"),
                        _ => self.walk(group.stream(), purpose),
                    }
                }
                _ => {}
            }
        }
    }

    /// Counts an error that the user caused, and whether the calls after it add a hint.
    fn count(&mut self, mut after: &[TokenTree], error: &str) {
        self.usage += 1;
        while let [TokenTree::Punct(dot), TokenTree::Ident(method), TokenTree::Group(_), rest @ ..] = after {
            if dot.as_char() != '.' || method.to_string().starts_with("hint") {
                return;
            }
            after = rest;
        }
        if !matches!(after.first(), Some(TokenTree::Punct(end)) if [';', ','].contains(&end.as_char())) {
            self.without_hint.push(error.to_owned());
        }
    }
}

/// The arguments of an attribute `error`. Other attributes have no texts for people.
fn error_attribute(attribute: TokenStream) -> Option<TokenStream> {
    let mut trees = attribute.into_iter();
    let name = trees.next()?.to_string();
    (name == "error").then(|| trees.collect())
}

/// The tokens before a group, as far as they may describe it: `AppError::usage`, `.hint`, `warn!`.
fn before(trees: &[TokenTree]) -> String {
    let mut text = String::new();
    for tree in trees.iter().skip(trees.len().saturating_sub(14)) {
        match tree {
            TokenTree::Ident(ident) if text.ends_with(|c: char| c.is_alphanumeric()) => {
                write!(text, " {ident}").unwrap()
            }
            TokenTree::Ident(ident) => text += &ident.to_string(),
            TokenTree::Punct(punct) => text.push(punct.as_char()),
            _ => text.push(' '),
        }
    }
    text
}

/// The content of a string literal.
fn unquoted(literal: &str) -> Option<String> {
    let text = literal.trim_start_matches(['r', '#']).strip_prefix('"')?.trim_end_matches('#').strip_suffix('"')?;
    let mut lines = text.split("\\\n");
    let mut joined = lines.next()?.to_owned();
    lines.for_each(|line| joined += line.trim_start());
    Some(joined.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\"))
}
