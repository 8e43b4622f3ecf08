//! The test cases of a `junit_01.xml`, read by the stock module in its sandbox.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use plumbline_aggregator::{Source, TREE_FILE, post_process, prepare};
use plumbline_conformance::submission::{CaseStatus, Cases, JUNIT, declared_encoding, root_element};
use plumbline_core::definition::Definition;
use plumbline_core::{Item, Status, text};
use serde_json::json;

use crate::args::LimitsArg;
use crate::error::CliError;
use crate::limits::Limits;
use crate::stock;
use crate::tree::read_tree;

/// Bytes of a file of results: 256 MiB. Those of a whole run of the suite have 2.5 MiB.
const MAX_BYTES: u64 = 256 << 20;

/// Bytes in which the outermost element must begin.
const HEAD: u64 = 64 << 10;

/// Levels above a test case: plugin, file, suite. In deeper suites the verifier does not look.
const DEPTH: usize = 3;

/// Reads the cases of the file at `path`. What is wrong with its content stands in what is returned.
pub(super) fn read_cases(path: &Path, limits: &LimitsArg) -> Result<Cases, CliError> {
    let wrong = |error: &dyn std::error::Error| {
        CliError::usage(format!("the results in `{}` cannot be read", path.display())).because(error)
    };
    let mut file = File::open(path).map_err(|error| wrong(&error))?;
    let bytes = file.metadata().map_err(|error| wrong(&error))?.len();
    if bytes > MAX_BYTES {
        let error = io::Error::other(format!("it has {bytes} bytes: at most {MAX_BYTES} are read"));
        return Err(wrong(&error));
    }
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head).map_err(|error| wrong(&error))?;
    let encoding = encoding(path, &head).map_err(|error| wrong(&error))?;
    let root = tree(path, limits)?;
    let mut cases = collected(&root);
    cases.root = root_element(&head);
    cases.encoding = encoding;
    root.dismantle();
    Ok(cases)
}

/// Why a file that begins with `head` is not the UTF-8 that the verifier reads, if it is not. The module reads more.
fn encoding(path: &Path, head: &[u8]) -> io::Result<Option<String>> {
    if let Some(said) = declared_encoding(head).filter(|said| !said.eq_ignore_ascii_case("utf-8")) {
        let said = text::excerpt(&said, 40);
        return Ok(Some(format!("the file says that it is in `{said}`")));
    }
    Ok((!is_utf8(File::open(path)?)?).then(|| "the file is not in UTF-8".to_owned()))
}

/// Whether all that comes is text in UTF-8, without the NULs that wider encodings are full of.
fn is_utf8(mut from: impl Read) -> io::Result<bool> {
    let mut piece = vec![0; 256 << 10];
    // Bytes at the beginning of the piece: a character that was cut.
    let mut kept = 0;
    loop {
        let read = from.read(piece.get_mut(kept..).unwrap_or_default())?;
        if read == 0 {
            return Ok(kept == 0);
        }
        let end = kept + read;
        let bytes = piece.get(..end).unwrap_or_default();
        let whole = match std::str::from_utf8(bytes) {
            Ok(_) => end,
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return Ok(false),
        };
        if bytes.contains(&0) {
            return Ok(false);
        }
        piece.copy_within(whole..end, 0);
        kept = end - whole;
    }
}

/// The tree that the stock module makes of the file.
fn tree(path: &Path, limits: &LimitsArg) -> Result<Item, CliError> {
    let limits = Limits::load(limits)?;
    let modules = stock::modules(&limits)?;
    let broken = |error: &dyn std::error::Error| {
        CliError::system(format!("the results in `{}` cannot be read", path.display())).because(error)
    };
    let definition = json!({
        "sonobuoy-config": {"plugin-name": "e2e", "driver": "Job", "result-format": "junit", "result-files": [JUNIT]},
        "spec": {},
    });
    let parsed = Definition::from_json(definition).map_err(|error| broken(&error))?;
    let source = Source { definition: Arc::new(parsed.definition), bundle: None };
    let plugin = prepare(&modules, &limits.modules, source).map_err(|error| broken(&error))?;
    plugin.ready().map_err(|error| broken(&error))?;
    let scratch = tempfile::tempdir()
        .map_err(|error| CliError::system("a directory for temporary files cannot be made").because(&error))?;
    let dir = scratch.path().join("plugin");
    let results = dir.join("results/global");
    fs::create_dir_all(&results).map_err(|error| broken(&error))?;
    fs::copy(path, results.join(JUNIT)).map_err(|error| broken(&error))?;
    let tree = scratch.path().join(TREE_FILE);
    post_process(&plugin.subject(), &dir, &plugin.post_processor.module, scratch.path(), &tree)
        .map_err(|error| broken(&error))?;
    let file = File::open(&tree).map_err(|error| broken(&error))?;
    read_tree(file).map_err(|error| broken(&error))
}

fn collected(root: &Item) -> Cases {
    let mut cases = Cases::default();
    let mut walk = root.walk();
    while let Some(item) = walk.next() {
        if !item.is_leaf() {
            continue;
        }
        if item.status == Status::Unknown
            && let Some(problem) = item.meta.get("error").or_else(|| item.meta.get("reason"))
        {
            cases.problem.get_or_insert_with(|| problem.clone());
            continue;
        }
        let depth = walk.depth();
        if depth > DEPTH {
            cases.add_nested();
        } else if depth == DEPTH {
            let status = match item.status {
                Status::Passed => CaseStatus::Passed,
                Status::Skipped => CaseStatus::Skipped,
                _ => CaseStatus::Failed,
            };
            cases.add(&item.name, status);
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let one = into.len().min(1);
            self.0.read(&mut into[..one])
        }
    }

    #[test]
    fn text_is_text_wherever_it_is_cut() {
        for (bytes, is) in [
            (&b""[..], true),
            ("a\u{e9}\u{20ac}\u{1f600}".as_bytes(), true),
            (b"caf\xe9 au lait", false),
            ("\u{20ac}".as_bytes().get(..2).unwrap(), false),
            (b"<\0a\0>\0", false),
        ] {
            assert_eq!(is_utf8(bytes).unwrap(), is, "{bytes:?}");
            assert_eq!(is_utf8(Slow(bytes)).unwrap(), is, "{bytes:?}");
        }
        assert!(is_utf8("\u{20ac}".repeat(300_000).as_bytes()).unwrap());
    }
}
