//! Selection of the files of a directory that belong to its bundle. The default is small, so that
//! sources, secrets or dependencies are never packed by accident.

use globset::{GlobSet, GlobSetBuilder};
use plumbline_core::definition::Definition;
use plumbline_sandbox::file_pattern;

use crate::profile::{PROFILE_FILE, Profile};

/// File names of a definition, in order of precedence.
pub const DEFINITION_FILES: [&str; 2] = ["plugin.yaml", "plugin.yml"];

/// Prefixes of the names of text files that are packed by default, in any case.
const TEXTS: [&str; 5] = ["readme", "license", "licence", "copying", "notice"];

/// Directory of the golden cases.
const TESTS: &str = "tests";

/// Characters that turn a name into a pattern.
const META: [char; 6] = ['*', '?', '[', ']', '{', '}'];

/// The selection rules for one definition.
#[derive(Debug)]
pub(crate) struct Selection {
    definition: String,
    /// Files with an exact name: the command, and patterns without a wildcard.
    literal: Vec<String>,
    command: Option<String>,
    patterns: Vec<String>,
    globs: GlobSet,
    /// What the profile names: files, and patterns of files for all versions.
    profile: GlobSet,
    profile_patterns: Vec<String>,
}

impl Selection {
    /// Creates the rules for `definition`, which is in the file `file`, and for the profile next to
    /// it.
    ///
    /// # Errors
    /// A sentence about a pattern of `plumbline.files` that is not a glob.
    pub(crate) fn of(file: &str, definition: &Definition, profile: Option<&Profile>) -> Result<Self, String> {
        let command = command(definition);
        let patterns = definition.plumbline.files.clone();
        let globs = glob_set(&patterns)?;
        let profile_patterns: Vec<String> =
            profile.into_iter().flat_map(Profile::files).map(|(_, pattern)| pattern).collect();
        let of_profile = glob_set(&profile_patterns)?;
        let plain = patterns.iter().chain(&profile_patterns).filter(|pattern| !pattern.contains(META)).cloned();
        let own = profile.map(|_| PROFILE_FILE.to_owned());
        let literal = command.iter().cloned().chain(plain).chain(own).collect();
        let definition = file.to_owned();
        Ok(Self { definition, literal, command, patterns, globs, profile: of_profile, profile_patterns })
    }

    /// Returns whether the file `name` belongs to the bundle. Names that begin with a dot are
    /// hidden: only an exact name selects them, never a wildcard.
    pub(crate) fn takes(&self, name: &str) -> bool {
        if name == self.definition || self.literal.iter().any(|literal| literal == name) {
            return true;
        }
        if name.split('/').any(|component| component.starts_with('.')) {
            return false;
        }
        match name.split_once('/') {
            Some((TESTS, _)) => true,
            None if is_top_level(name) => true,
            _ => self.globs.is_match(name) || self.profile.is_match(name),
        }
    }

    /// Returns whether a file below the directory `dir` can belong to the bundle.
    pub(crate) fn may_hold(&self, dir: &str) -> bool {
        let below = |name: &str| name.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
        if self.literal.iter().any(|literal| below(literal)) {
            return true;
        }
        if dir.split('/').any(|component| component.starts_with('.')) {
            return false;
        }
        let mut patterns = self.patterns.iter().chain(&self.profile_patterns);
        dir == TESTS || dir.starts_with("tests/") || patterns.any(|pattern| leads_into(pattern, dir))
    }

    /// Returns the file that the definition executes, if it is in the directory.
    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    pub(crate) fn idle<'a>(&'a self, names: &[&str]) -> Vec<&'a str> {
        let mut used = vec![false; self.patterns.len()];
        for at in names.iter().flat_map(|name| self.globs.matches(name)) {
            if let Some(used) = used.get_mut(at) {
                *used = true;
            }
        }
        self.patterns.iter().zip(used).filter(|(_, used)| !used).map(|(pattern, _)| pattern.as_str()).collect()
    }
}

fn glob_set(patterns: &[String]) -> Result<GlobSet, String> {
    let mut globs = GlobSetBuilder::new();
    for pattern in patterns {
        globs.add(
            file_pattern(pattern).map_err(|error| format!("pattern `{pattern}` is not a glob: {}", error.kind()))?,
        );
    }
    globs.build().map_err(|error| error.to_string())
}

/// Returns whether `name` is a module, a text file or a schema next to the definition.
fn is_top_level(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.ends_with(".wasm") || name.ends_with(".schema.json") || TEXTS.iter().any(|text| lower.starts_with(text))
}

/// Returns the file that a relative `spec.command[0]` refers to. Like a local run, it resolves
/// names with a slash relative to the working directory.
fn command(definition: &Definition) -> Option<String> {
    let container = &definition.spec;
    let program = container.command().first().or(container.args().first()).filter(|program| program.contains('/'))?;
    name_in_bundle(definition, program)
}

/// Returns the name in the bundle for a relative path in the command, or `None` if the path leads
/// elsewhere.
pub(crate) fn name_in_bundle(definition: &Definition, path: &str) -> Option<String> {
    let base = definition.spec.working_dir().unwrap_or_default();
    if path.starts_with('/') || base.starts_with('/') {
        return None;
    }
    let parts = base.split('/').chain(path.split('/')).filter(|part| !matches!(*part, "" | "."));
    let name = parts.collect::<Vec<_>>().join("/");
    crate::name::check(name.as_bytes()).is_ok().then_some(name)
}

/// Returns whether a file below `dir` can match `pattern`. It assumes that every wildcard matches,
/// because a longer walk does no harm.
fn leads_into(pattern: &str, dir: &str) -> bool {
    // An alternative can contain slashes.
    if pattern.contains('{') {
        return true;
    }
    let mut dir = dir.split('/');
    let mut components = pattern.split('/').peekable();
    while let Some(component) = components.next() {
        if component.contains("**") {
            return true;
        }
        match dir.next() {
            None => return true,
            // The last component matches the file itself.
            Some(_) if components.peek().is_none() => return false,
            Some(name) if name != component && !component.contains(META) => return false,
            Some(_) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(spec: &str, files: &str) -> Selection {
        let yaml = format!(
            "sonobuoy-config: {{driver: Process, plugin-name: p}}\nspec: {spec}\nplumbline: {{files: {files}}}\n"
        );
        Selection::of("plugin.yaml", &Definition::parse(&yaml).unwrap().definition, None).unwrap()
    }

    #[test]
    fn nothing_is_packed_unasked() {
        let rule = selection("{command: [./bin/check.sh, x]}", "['data/**', rules.json, .hidden/key, '*.txt']");
        for taken in [
            "plugin.yaml",
            "p.wasm",
            "README.md",
            "Readme",
            "LICENSE-MIT",
            "licence.txt",
            "COPYING",
            "NOTICE",
            "options.schema.json",
            "tests/a/results/global/x.xml",
            "bin/check.sh",
            "data/a/b",
            "rules.json",
            ".hidden/key",
            "a.txt",
        ] {
            assert!(rule.takes(taken), "{taken}");
        }
        for left in [
            "plugin.yml",
            "src/main.rs",
            "Cargo.toml",
            "sub/p.wasm",
            "sub/README.md",
            ".env",
            "tests/.env",
            "tests/.git/config",
            "data/.secret",
            "bin/other.sh",
            "sub/a.txt",
            "build/p.core.wasm",
            "node_modules/x/README.md",
            ".hidden/other",
            "module.yaml",
        ] {
            assert!(!rule.takes(left), "{left}");
        }
        for (dir, may) in [
            ("tests", true),
            ("tests/a", true),
            ("tests/.git", false),
            ("bin", true),
            ("bin/sub", false),
            ("data", true),
            ("data/a", true),
            ("src", false),
            ("node_modules", false),
            (".hidden", true),
            (".git", false),
        ] {
            assert_eq!(rule.may_hold(dir), may, "{dir}");
        }
        let rule = selection("{}", "['data/*/*.json']");
        assert!(rule.may_hold("data/a") && !rule.may_hold("data/a/b"));
        assert!(selection("{}", "['{x,y/z}/a']").may_hold("y/z"));
        let rule = selection("{}", "['data/**', rules.json, .hidden/key, '*.txt']");
        assert_eq!(rule.idle(&["data/a", "plugin.yaml"]), ["rules.json", ".hidden/key", "*.txt"]);
    }

    #[test]
    fn files_that_a_profile_names_belong_to_the_bundle() {
        let profile = "name: p\ntitle: P\nversion: {option: v}\nlocal: {command: [./run.sh]}\n\
            options: [{name: v, help: h, type: enum, values: ['1'], default: '1', env: V}]\n\
            tests: 'lists/{version}.txt'\n";
        let profile = Profile::parse(profile.as_bytes()).unwrap();
        let definition = Definition::parse("sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {}\n").unwrap();
        let rule = Selection::of("plugin.yaml", &definition.definition, Some(&profile)).unwrap();
        for taken in ["profile.yaml", "run.sh", "lists/1.txt", "plugin.yaml"] {
            assert!(rule.takes(taken), "{taken}");
        }
        assert!(rule.may_hold("lists") && !rule.takes("lists/more/1.txt") && !rule.takes("other.sh"));
        let without = Selection::of("plugin.yaml", &definition.definition, None).unwrap();
        assert!(!without.takes("profile.yaml"));
    }

    #[test]
    fn the_command_is_found_as_a_run_finds_it() {
        let command = |spec| selection(spec, "[]").command().map(str::to_owned);
        assert_eq!(command("{command: [./check.sh]}").as_deref(), Some("check.sh"));
        assert_eq!(command("{args: [bin/check]}").as_deref(), Some("bin/check"));
        assert_eq!(command("{command: [./check.sh], workingDir: ./sub/}").as_deref(), Some("sub/check.sh"));
        for elsewhere in
            ["{}", "{command: [sh]}", "{command: [/bin/sh]}", "{command: [../x]}", "{command: [./x], workingDir: /tmp}"]
        {
            assert_eq!(command(elsewhere), None, "{elsewhere}");
        }
    }
}
