//! The files of each result set, and those of them that a module gets.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use globset::{GlobSet, GlobSetBuilder};
use plumbline_archive::layout::LEFT_OUT_FILE;
use plumbline_core::limits::{ARCHIVE_DEPTH, ARCHIVE_ENTRIES};
use plumbline_core::text::one_line;
use plumbline_sandbox::{ModuleInfo, file_pattern};

use super::outcome::{PostProcessError, Subject, io_error, is_of_data};

/// Maximum size of a worker's list of entries that it could not pack, in bytes.
const MAX_LIST: u64 = 4 << 10;

/// Characters that make a name in `result-files` a pattern, which need not match a file.
const WILDCARDS: [char; 4] = ['*', '?', '[', '{'];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetFile {
    /// Path relative to the plugin's directory, separated by `/`: `results/global/junit_01.xml`.
    pub(super) path: String,
    pub(super) absolute: PathBuf,
    pub(super) size: u64,
}

impl SetFile {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns the path below `results/` or `errors/`.
    pub(super) fn path_in_results(&self) -> &str {
        self.path.split_once('/').map_or(self.path.as_str(), |(_, below)| below)
    }
}

/// The directory of a result set. Listing all sets at once would take much more memory.
pub(super) struct SetDirectory {
    node: Option<String>,
    path: PathBuf,
    relative: String,
}

impl SetDirectory {
    /// Lists the regular files of the set. Links are not followed.
    pub(super) fn list(&self) -> io::Result<ResultSet> {
        let mut set = ResultSet { node: self.node.clone(), files: Vec::new(), fault: None };
        set.walk(&self.path, &self.relative, self.relative.split('/').count())?;
        set.take_list_of_lost()?;
        Ok(set)
    }
}

/// The files of one node, or of the whole cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResultSet {
    /// Name of the node's directory. `None` for a plugin with a single result set.
    pub(super) node: Option<String>,
    /// Files in lexical order of their paths.
    pub(super) files: Vec<SetFile>,
    /// Why files are missing from the list, for example because the results exceed a limit.
    pub(super) fault: Option<String>,
}

/// Returns the result sets below `plugin_dir/top` (`results` or `errors`): each subdirectory for a
/// plugin that runs per node, and otherwise all files.
pub(super) fn result_sets(plugin_dir: &Path, top: &str, per_node: bool) -> io::Result<Vec<SetDirectory>> {
    let root = plugin_dir.join(top);
    match fs::metadata(&root) {
        Ok(metadata) if metadata.is_dir() => {}
        // An error of the disk must not look like a plugin without results or errors.
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => return Ok(Vec::new()),
    }
    if !per_node {
        return Ok(vec![SetDirectory { node: None, path: root, relative: top.to_owned() }]);
    }
    let mut sets = Vec::new();
    for (name, path) in entries(&root)? {
        if fs::symlink_metadata(&path)?.is_dir() {
            let relative = format!("{top}/{name}");
            sets.push(SetDirectory { node: Some(name), path, relative });
        }
    }
    Ok(sets)
}

/// Returns entries in lexical order. The receiver creates no names that are not UTF-8.
fn entries(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string() {
            entries.push((name, entry.path()));
        }
    }
    entries.sort();
    Ok(entries)
}

impl ResultSet {
    /// Reports the entries that a worker could not pack, which a file lists.
    fn take_list_of_lost(&mut self) -> io::Result<()> {
        let is_list = |file: &SetFile| {
            let names: Vec<&str> = file.path.split('/').collect();
            matches!(names.as_slice(), [_, _, LEFT_OUT_FILE])
        };
        let Some(at) = self.files.iter().position(is_list) else { return Ok(()) };
        let file = self.files.remove(at);
        let mut list = Vec::new();
        let from = File::open(&file.absolute)?.take(MAX_LIST);
        BufReader::new(from).read_until(b'\n', &mut list)?;
        // The limit can cut a character.
        self.fail(|| one_line(String::from_utf8_lossy(&list).trim()));
        Ok(())
    }

    /// Adds the files below a directory. `depth` is the number of components of `relative`. In the
    /// archive there are two more, `plugins/NAME`.
    fn walk(&mut self, dir: &Path, relative: &str, depth: usize) -> io::Result<()> {
        if depth + 2 > ARCHIVE_DEPTH {
            self.fail(|| format!("the directories of the result are nested too deep (limit: {ARCHIVE_DEPTH})"));
            return Ok(());
        }
        let entries = match entries(dir) {
            Err(error) if is_of_data(&error) => {
                self.fail(|| format!("failed to list `{}`: {error}", cut(relative)));
                return Ok(());
            }
            entries => entries?,
        };
        for (name, absolute) in entries {
            let metadata = match fs::symlink_metadata(&absolute) {
                Err(error) if is_of_data(&error) => {
                    self.fail(|| format!("failed to read `{}/{}`: {error}", cut(relative), cut(&name)));
                    continue;
                }
                metadata => metadata?,
            };
            let path = format!("{relative}/{name}");
            if metadata.is_dir() {
                self.walk(&absolute, &path, depth + 1)?;
            } else if metadata.is_file() {
                if self.files.len() as u64 >= ARCHIVE_ENTRIES {
                    self.fail(|| format!("the result has more than {ARCHIVE_ENTRIES} files"));
                    return Ok(());
                }
                self.files.push(SetFile { path, absolute, size: metadata.len() });
            }
        }
        Ok(())
    }

    /// Records a fault. Only the first one is kept.
    fn fail(&mut self, why: impl FnOnce() -> String) {
        self.fault.get_or_insert_with(why);
    }
}

/// Truncates a path to 120 characters.
fn cut(path: &str) -> String {
    path.chars().take(120).collect()
}

/// Compiles globs in which `*` and `?` do not match `/`, and `**` does.
pub(crate) fn file_patterns(patterns: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(file_pattern(pattern)?);
    }
    set.build()
}

/// The files for a module.
pub(super) enum Selection {
    /// The definition's `result-files`, which must equal the base name.
    Names(Vec<String>),
    /// The module's default patterns, which must match the path below the result directory.
    Patterns(GlobSet),
}

impl Selection {
    /// Selects by `names` if there are any, and otherwise by `patterns`.
    pub(super) fn new(names: &[String], patterns: &[String]) -> Result<Self, globset::Error> {
        if !names.is_empty() {
            return Ok(Self::Names(names.to_vec()));
        }
        file_patterns(patterns).map(Self::Patterns)
    }

    pub(super) fn takes(&self, file: &SetFile) -> bool {
        match self {
            Self::Names(names) => names.iter().any(|name| name == file.name()),
            Self::Patterns(set) => set.is_match(file.path_in_results()),
        }
    }

    /// Returns the names without wildcards that none of `selected` has, the files of one result set
    /// for the module.
    pub(super) fn missing(&self, selected: &[&SetFile]) -> Vec<String> {
        let Self::Names(names) = self else { return Vec::new() };
        let mut present: BTreeSet<&str> = selected.iter().map(|file| file.name()).collect();
        let mut missing = Vec::new();
        for name in names {
            let is_required = !name.is_empty() && !name.contains(WILDCARDS);
            // A name that occurs twice is missing once.
            if is_required && present.insert(name) {
                missing.push(cut(&one_line(name)));
            }
        }
        missing
    }
}

/// The files of one result set, for one call of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleInput {
    /// Node of the results, if the plugin runs per node.
    pub node: Option<String>,
    /// Path for the module, and path on disk. In lexical order, never empty.
    pub files: Vec<(String, PathBuf)>,
}

/// Returns the inputs with which [`post_process`](super::post_process) would call a module, for
/// `subject` in the directory `dir`.
///
/// # Errors
/// When the directory cannot be listed, or a default pattern of the module is not a glob.
pub fn module_inputs(
    subject: &Subject<'_>,
    dir: &Path,
    module: &ModuleInfo,
) -> Result<Vec<ModuleInput>, PostProcessError> {
    let selection = Selection::new(subject.result_files, &module.default_files).map_err(|source| {
        PostProcessError::Pattern { module: module.name.clone().unwrap_or_else(|| "module".to_owned()), source }
    })?;
    let listed = result_sets(dir, "results", subject.per_node)
        .and_then(|sets| sets.iter().map(SetDirectory::list).collect::<io::Result<Vec<_>>>());
    let listed = listed.map_err(io_error(format!("failed to list the results of plugin `{}`", subject.plugin.name)))?;
    let inputs = listed.into_iter().map(|set| {
        let files = set.files.into_iter().filter(|file| selection.takes(file));
        ModuleInput { node: set.node, files: files.map(|file| (file.path, file.absolute)).collect() }
    });
    Ok(inputs.filter(|input| !input.files.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(dir: &Path, per_node: bool) -> Vec<ResultSet> {
        result_sets(dir, "results", per_node).unwrap().iter().map(|set| set.list().unwrap()).collect()
    }

    fn file(path: &str) -> SetFile {
        SetFile { path: path.into(), absolute: PathBuf::new(), size: 0 }
    }

    #[test]
    fn names_are_compared_with_the_base_name_only() {
        let selection = Selection::new(&["a.xml".into()], &["**".into()]).unwrap();
        assert!(selection.takes(&file("results/global/deep/a.xml")));
        assert!(!selection.takes(&file("results/global/aa.xml")));
        assert!(!selection.takes(&file("results/global/a.xml/b")));
    }

    #[test]
    fn each_name_without_wildcards_must_be_in_the_set() {
        let (a, deep) = (file("results/global/a.xml"), file("results/global/x/b.xml"));
        let names = ["a.xml", "b.xml", "c\n.xml", "b.xml", "*.xml", "d?.xml", "[ab].xml", "{a,b}.xml", ""];
        let selection = Selection::new(&names.map(str::to_owned), &["**".into()]).unwrap();
        assert_eq!(selection.missing(&[&a, &deep]), ["c .xml"]);
        assert_eq!(selection.missing(&[&a]), ["b.xml", "c .xml"]);
        assert_eq!(selection.missing(&[]), ["a.xml", "b.xml", "c .xml"]);
        let patterns = Selection::new(&[], &["a.xml".into()]).unwrap();
        assert!(patterns.missing(&[]).is_empty(), "the patterns of a module need not match");
    }

    #[test]
    fn patterns_take_files_at_any_depth() {
        let selection = Selection::new(&[], &["**/*.xml".into()]).unwrap();
        assert!(selection.takes(&file("results/global/a.xml")));
        assert!(selection.takes(&file("results/global/x/y/a.xml")));
        assert!(!selection.takes(&file("results/global/a.json")));
        let all = Selection::new(&[], &["**".into()]).unwrap();
        assert!(all.takes(&file("results/global/.hidden")));
    }

    #[test]
    fn sets_follow_the_driver_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["results/n1/a", "results/n2/x/b"] {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), "1").unwrap();
        }
        fs::write(dir.path().join("results/stray"), "1").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join("results/n1/link")).unwrap();
        let sets = listed(dir.path(), true);
        let seen: Vec<_> = sets
            .iter()
            .map(|s| (s.node.as_deref().unwrap(), s.files.iter().map(|f| f.path.as_str()).collect::<Vec<_>>()))
            .collect();
        assert_eq!(seen, [("n1", vec!["results/n1/a"]), ("n2", vec!["results/n2/x/b"])]);
        let sets = listed(dir.path(), false);
        assert_eq!(sets.len(), 1);
        assert_eq!(sets[0].files.len(), 3);
        assert!(result_sets(dir.path(), "errors", true).unwrap().is_empty());
    }

    #[test]
    fn a_long_list_of_what_is_missing_is_cut_and_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        let results = dir.path().join("results/global");
        fs::create_dir_all(&results).unwrap();
        fs::write(results.join(LEFT_OUT_FILE), format!("not in the results:{}\n", "é".repeat(5_000))).unwrap();
        let [set] = <[ResultSet; 1]>::try_from(listed(dir.path(), false)).unwrap();
        let fault = set.fault.unwrap();
        assert!(fault.starts_with("not in the results:é") && set.files.is_empty(), "{fault}");
    }

    #[test]
    fn a_directory_that_cannot_be_read_is_not_taken_for_an_absent_one() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("errors", dir.path().join("errors")).unwrap();
        for per_node in [true, false] {
            let error = result_sets(dir.path(), "errors", per_node).err().unwrap();
            assert!(!is_of_data(&error), "{error}");
        }
    }
}
