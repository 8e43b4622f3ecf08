//! Source files: their lines, their functions, and the paths in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::error::Error;

/// A file of a crate.
#[derive(Debug, Default)]
pub(super) struct SourceFile {
    /// The directory of the crate below `host`.
    pub(super) krate: String,
    /// The module path of the file; empty for the root of the crate.
    pub(super) module: Vec<String>,
    /// The number of production lines.
    pub(super) production: usize,
    /// The number of test lines.
    pub(super) tests: usize,
    /// The production functions.
    pub(super) functions: Vec<Function>,
    /// The paths into the same crate, from its root.
    pub(super) uses: BTreeSet<Vec<String>>,
    /// The production lines, without indentation.
    pub(super) text: Vec<String>,
}

/// A function.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) lines: usize,
}

impl SourceFile {
    /// Returns the crate and module, for messages.
    pub(super) fn name(&self) -> String {
        format!("{}::{}", self.krate, self.module.join("::"))
    }
}

/// Reads all files of the crates below `host`.
pub(super) fn read(host: &Path) -> Result<Vec<SourceFile>, Error> {
    let mut files = Vec::new();
    for krate in directory(host)? {
        let name = file_name(&krate);
        for tests in ["tests", "benches"] {
            walk(&krate.join(tests), &mut |_, text| {
                files.push(SourceFile { krate: name.clone(), tests: text.lines().count(), ..SourceFile::default() });
            })?;
        }
        let src = krate.join("src");
        let mut modules = Vec::new();
        walk(&src, &mut |path, text| {
            let module = module_of(path.strip_prefix(&src).unwrap_or(path));
            modules.push((module, text.to_owned()));
        })?;
        let tests: BTreeSet<Vec<String>> =
            modules.iter().flat_map(|(module, text)| test_modules(module, text)).collect();
        for (module, text) in modules {
            let of_tests = (1..=module.len()).any(|depth| tests.contains(module.get(..depth).unwrap_or_default()));
            files.push(parse(&name, module, &text, of_tests));
        }
    }
    Ok(files)
}

fn parse(krate: &str, module: Vec<String>, text: &str, of_tests: bool) -> SourceFile {
    let all = text.lines().count();
    let text = if of_tests { Vec::new() } else { without_tests(text) };
    SourceFile {
        krate: krate.to_owned(),
        production: text.len(),
        tests: all - text.len(),
        functions: functions(&text),
        uses: uses(&module, &text.join("\n")),
        text: text.into_iter().map(|line| line.trim().to_owned()).collect(),
        module,
    }
}

/// Returns the lines outside of test-only items.
fn without_tests(text: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept.push(line);
            continue;
        }
        // Skip further attributes before the item.
        let item = lines.by_ref().find(|line| !line.trim_start().starts_with("#["));
        if let Some(item) = item.filter(|item| !item.ends_with(';') && !item.ends_with('}')) {
            let close = format!("{}}}", indentation(item));
            let _ = lines.by_ref().find(|line| *line == close);
        }
    }
    kept
}

/// Returns the test-only modules that have files of their own.
fn test_modules(module: &[String], text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while lines.any(|line| line == "#[cfg(test)]") {
        let mut path = None;
        for line in lines.by_ref() {
            if let Some(other) = line.strip_prefix("#[path = \"") {
                path = other.strip_suffix(".rs\"]");
            } else if !line.starts_with("#[") {
                let name = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod ")).map(|(_, name)| name);
                // A `path` attribute is relative to the directory of this file.
                let parent =
                    if path.is_some() { module.split_last().map_or(module, |(_, parent)| parent) } else { module };
                found.extend(path.or(name).map(|name| parent.iter().cloned().chain([name.to_owned()]).collect()));
                break;
            }
        }
    }
    found
}

fn functions(text: &[&str]) -> Vec<Function> {
    let mut functions = Vec::new();
    for (start, line) in text.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let close = format!("{}}}", indentation(line));
        let end = text.iter().skip(start).position(|line| *line == close);
        let lines = match end {
            _ if line.ends_with('}') => 1,
            // A declaration has no body.
            _ if line.ends_with(';') => continue,
            Some(end) => end + 1,
            None => continue,
        };
        functions.push(Function { name: name.to_owned(), lines });
    }
    functions
}

fn function_name(line: &str) -> Option<&str> {
    let (before, rest) = line.trim_start().split_once("fn ")?;
    let known =
        |word: &str| matches!(word, "pub" | "const" | "async" | "unsafe" | "extern") || word.starts_with("pub(");
    if !before.split_whitespace().all(known) {
        return None;
    }
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

/// Returns the paths in the code that lead into its own crate, with braces expanded.
fn uses(module: &[String], text: &str) -> BTreeSet<Vec<String>> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join(" ");
    let declared = text.lines().filter_map(|line| line.strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name));
    let starts = ["crate", "self", "super"].into_iter().chain(declared);
    let mut found = BTreeSet::new();
    for start in starts.map(|start| format!("{start}::")) {
        for (at, _) in code.match_indices(&start) {
            let before = code.get(..at).unwrap_or_default();
            // Skip matches in the middle of a path or name.
            if !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                found.extend(paths(module, code.get(at..).unwrap_or_default()));
            }
        }
    }
    found
}

/// Returns the paths of one use tree in `module`.
pub(super) fn paths(module: &[String], names: &str) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    let keyword = ["crate::", "self::", "super::"].iter().any(|word| names.trim_start().starts_with(word));
    tree(names, module, if keyword { &[] } else { module }, &mut found);
    found
}

/// Adds the paths of one tree, and returns the length of the text that it consumed.
fn tree(text: &str, module: &[String], prefix: &[String], found: &mut BTreeSet<Vec<String>>) -> usize {
    let mut path = prefix.to_vec();
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let skipped = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        at += skipped;
        if let Some(list) = rest.strip_prefix('{') {
            let mut inside = 1;
            while let Some(rest) = list.get(inside - 1..).filter(|rest| !rest.is_empty()) {
                let trimmed = rest.trim_start();
                inside += rest.len() - trimmed.len();
                if trimmed.starts_with('}') {
                    break;
                }
                inside += tree(trimmed, module, &path, found).max(1);
            }
            return at + inside + 1;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        match word {
            "" => break,
            "crate" => path.clear(),
            "self" if path.is_empty() => path = module.to_vec(),
            "self" => {}
            "super" => {
                if path.is_empty() {
                    path = module.to_vec();
                }
                path.pop();
            }
            name => path.push(name.to_owned()),
        }
        at += end;
        match text.get(at..).and_then(|rest| rest.strip_prefix("::")) {
            Some(_) => at += 2,
            None => break,
        }
    }
    if at > 0 {
        found.insert(path);
    }
    // Skip an alias.
    let rest = text.get(at..).unwrap_or_default();
    let alias = rest.trim_start().strip_prefix("as ").filter(|_| rest.starts_with(' '));
    alias.map_or(at, |alias| text.len() - alias.len() + alias.find([',', '}', ';']).unwrap_or(alias.len()))
}

fn indentation(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

/// Returns the module path of a file: `a/b.rs` and `a/b/mod.rs` are `a::b`.
fn module_of(path: &Path) -> Vec<String> {
    let mut module: Vec<String> =
        path.with_extension("").components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn directory(dir: &Path) -> Result<Vec<std::path::PathBuf>, Error> {
    let entries = fs::read_dir(dir).map_err(Error::io("read", dir))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Visits every Rust file below `dir`, which need not exist.
fn walk(dir: &Path, each: &mut dyn FnMut(&Path, &str)) -> Result<(), Error> {
    if !dir.is_dir() {
        return Ok(());
    }
    for path in directory(dir)? {
        if path.is_dir() {
            walk(&path, each)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            each(&path, &fs::read_to_string(&path).map_err(Error::io("read", &path))?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "\
use super::{one::One, two as second};
use crate::a::{self, b::{C, D}};

pub(crate) async fn long(
    x: u8,
) -> u8 {
    crate::a::f(x)
}

impl X {
    fn short(&self) {}
    #[cfg(test)]
    fn only_tests() {
        loop {}
    }
}

#[cfg(test)]
mod tests {
    fn no() {}
}
";

    #[test]
    fn lines_functions_and_paths_are_those_outside_of_tests() {
        let file = parse("k", vec!["m".into(), "n".into()], CODE, false);
        assert_eq!((file.production, file.tests), (13, 8), "{:?}", file.text);
        let functions: Vec<_> =
            file.functions.iter().map(|function| (function.name.as_str(), function.lines)).collect();
        assert_eq!(functions, [("long", 5), ("short", 1)]);
        let uses: Vec<String> = file.uses.iter().map(|path| path.join("::")).collect();
        assert_eq!(uses, ["a", "a::b::C", "a::b::D", "a::f", "m::one::One", "m::two"]);
        assert_eq!(parse("k", Vec::new(), CODE, true).production, 0);
    }

    #[test]
    fn a_module_in_a_file_of_its_own_is_of_tests_where_it_is_declared_so() {
        let found = test_modules(&["a".into()], "#[cfg(test)]\npub(crate) mod support;\nmod other;\n");
        assert_eq!(found, [["a".to_owned(), "support".to_owned()]]);
        let named = test_modules(&["a".into(), "b".into()], "#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;\n");
        assert_eq!(named, [["a".to_owned(), "b_tests".to_owned()]]);
        assert_eq!(module_of(Path::new("a/b/mod.rs")), ["a", "b"]);
    }
}
