//! Parses the command lines of every Markdown file of the repository, so that no page shows a command
//! or an option that does not exist.

use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::Chars;

use clap::CommandFactory as _;

use crate::args::Cli;
use crate::args::tree::as_plumbline;

/// Languages of code blocks in which commands follow `$ `. Other lines are output.
const WITH_OUTPUT: [&str; 2] = ["console", "text"];

/// What comes before a command in the configuration of CI systems.
const BEFORE: [&str; 3] = ["- ", "run: ", "sh '"];

/// Programs that run the command after them.
const WRAPPERS: [&str; 2] = ["sudo", "kubectl"];

/// A placeholder for further arguments.
const MORE: &str = "…";

/// Returns the arguments of each call of the program in a command line for a shell. The program's name
/// is the first.
pub(crate) fn calls(line: &str) -> Vec<Vec<String>> {
    commands(line).into_iter().filter_map(call).collect()
}

/// Returns the words from `plumbline` on, if that is what the command calls.
fn call(words: Vec<String>) -> Option<Vec<String>> {
    let before = |word: &String| {
        let is_variable =
            word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
        is_variable || WRAPPERS.contains(&word.as_str())
    };
    let words: Vec<String> = words.into_iter().skip_while(before).filter(|word| word != MORE).collect();
    (words.first()? == "plumbline").then_some(words)
}

/// Splits a line into commands, and each command into words, as a shell does. Leaves out comments and
/// the files of redirections.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words) = (Vec::new(), Vec::new());
    let mut chars = line.chars().peekable();
    while let Some(&next) = chars.peek() {
        match next {
            ' ' => {
                chars.next();
            }
            '#' => break,
            '|' | '&' | ';' | '(' | ')' => {
                chars.next();
                commands.push(std::mem::take(&mut words));
            }
            '<' | '>' => {
                while chars.next_if(|c| "<>&| ".contains(*c)).is_some() {}
                word(&mut chars);
            }
            _ => {
                let word = word(&mut chars);
                // A number before a redirection is that of a stream.
                if !(chars.peek() == Some(&'>') && word.chars().all(|c| c.is_ascii_digit())) {
                    words.push(word);
                }
            }
        }
    }
    commands.push(words);
    commands
}

/// Takes a word, without its quotes.
fn word(chars: &mut Peekable<Chars<'_>>) -> String {
    let (mut word, mut quote) = (String::new(), None::<char>);
    while let Some(next) = chars.next_if(|c| quote.is_some() || !" |&;()<>".contains(*c)) {
        match (quote, next) {
            (Some(end), c) if c == end => quote = None,
            (None, '\'' | '"') => quote = Some(next),
            (None, '\\') => word.extend(chars.next()),
            (_, c) => word.push(c),
        }
    }
    word
}

/// Returns the command lines of the code blocks of a page, with the numbers of their last lines.
fn lines(page: &str) -> Vec<(usize, String)> {
    let (mut found, mut language, mut start) = (Vec::new(), None::<&str>, String::new());
    for (index, line) in page.lines().enumerate() {
        let line = line.trim();
        if let Some(fence) = line.strip_prefix("```") {
            language = language.is_none().then_some(fence);
            start.clear();
            continue;
        }
        let Some(language) = language else { continue };
        let command = match line.strip_prefix("$ ") {
            Some(command) => command,
            None if WITH_OUTPUT.contains(&language) && start.is_empty() => continue,
            None => BEFORE.iter().fold(line, |line, before| line.strip_prefix(before).unwrap_or(line)),
        };
        // A line that continues on the next one ends with a backslash, or with a pipe.
        let rest = command.strip_suffix('\\');
        start.push_str(rest.unwrap_or(command));
        start.push(' ');
        if rest.is_none() && !command.ends_with('|') {
            found.push((index + 1, std::mem::take(&mut start)));
        }
    }
    found
}

/// Collects the Markdown files below `dir`, without those that tools make or download.
fn pages(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().unwrap().is_dir() {
            if !name.starts_with('.') && !["target", "node_modules", "build"].contains(&name.as_str()) {
                pages(&path, found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

#[test]
fn every_command_line_of_every_page_is_one_of_this_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut files, mut seen, mut wrong) = (Vec::new(), 0, Vec::new());
    pages(&root, &mut files);
    let commands = as_plumbline(Cli::command(), true);
    for file in files {
        let page = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&root).unwrap().display();
        for (number, line) in lines(&page) {
            for call in calls(&line) {
                seen += 1;
                let parsed = commands.clone().try_get_matches_from(&call);
                // Requested help is an error of the parser too, for standard output.
                if let Some(error) = parsed.err().filter(clap::Error::use_stderr) {
                    wrong.push(format!("{name}:{number}: {}: {error}", call.join(" ")));
                }
            }
        }
    }
    assert!(seen > 450, "only {seen} command lines found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn calls_are_split_as_a_shell_does() {
    let of = |line: &str| calls(line).iter().map(|words| words.join("|")).collect::<Vec<_>>();
    assert_eq!(
        of("plumbline results a.tar.gz -o html > report.html   # a report"),
        ["plumbline|results|a.tar.gz|-o|html"]
    );
    assert_eq!(
        of("cat a | plumbline results - 2>&1 && kubectl plumbline wait"),
        ["plumbline|results|-", "plumbline|wait"]
    );
    assert_eq!(
        of("KEY=\"$(cat a.key)\" plumbline gen --schedule '0 3 * * *' …"),
        ["plumbline|gen|--schedule|0 3 * * *"]
    );
    assert_eq!(of("cargo build && echo plumbline"), Vec::<String>::new());
}

#[test]
fn commands_are_found_in_blocks_of_every_language() {
    let page = "plumbline a\n```console\n$ plumbline b \\\n    --c\noutput\n```\n```yaml\n- run: plumbline d\n```\n```text\nplumbline e\n```\n";
    let found: Vec<String> = lines(page).into_iter().map(|(_, line)| line.trim().to_owned()).collect();
    assert_eq!(found, ["plumbline b  --c", "plumbline d"]);
}
