//! Checks the texts of the help: short sentences, full stops, and the terms of the project.

use clap::{Arg, Command, CommandFactory as _};
use plumbline_conformance::lists::GoRegex;
use serde_json::{Map, Value};

use crate::args::Cli;
use crate::args::tree::as_plumbline;

/// Maximum words of a sentence, as in docs/.vale.
const MAX_WORDS: usize = 25;

/// Every text that help shows, with its place.
fn texts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut root = as_plumbline(Cli::command(), true);
    root.build();
    collect(&root, "plumbline", &mut all);
    assert!(all.len() > 400, "only {} texts", all.len());
    all
}

fn collect(command: &Command, path: &str, all: &mut Vec<(String, String)>) {
    if let Some(about) = command.get_about() {
        all.push((path.to_owned(), about.to_string()));
    }
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let place = format!("{path} {arg}");
        if let Some(help) = arg.get_help() {
            all.push((place.clone(), help.to_string()));
        } else {
            all.push((place.clone(), String::new()));
        }
        all.extend(values(arg).map(|text| (place.clone(), text)));
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        collect(sub, &format!("{path} {}", sub.get_name()), all);
    }
}

fn values(arg: &Arg) -> impl Iterator<Item = String> {
    let values = arg.get_possible_values().into_iter();
    values.filter_map(|value| value.get_help().map(ToString::to_string))
}

/// The text without its default, which follows in brackets.
fn without_default(text: &str) -> &str {
    text.split(" [default: ").next().unwrap_or(text)
}

/// The number of words, as the rule in docs/.vale counts them.
fn words(sentence: &str) -> usize {
    let within = |c: char| c.is_alphanumeric() || "'’_./:-".contains(c);
    sentence.split(|c| !within(c)).filter(|word| word.starts_with(char::is_alphanumeric)).count()
}

#[test]
fn every_text_is_of_short_sentences_with_full_stops() {
    let mut wrong = Vec::new();
    for (place, text) in texts() {
        let prose = without_default(&text);
        let several = prose.contains(". ");
        let problems = [
            (prose.is_empty(), "it has no text"),
            (prose.split(". ").any(|sentence| words(sentence) > MAX_WORDS), "a sentence is too long"),
            (prose.matches("; ").count() > 3, "it is a chain of semicolons"),
            (several && prose == text && !prose.ends_with('.'), "its last sentence has no full stop"),
            (!several && prose.ends_with('.') && !prose.ends_with("..."), "a phrase has a full stop"),
            (prose.starts_with(char::is_lowercase) && !prose.starts_with("oci:"), "it starts in lower case"),
        ];
        wrong.extend(
            problems.iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, why)| format!("{place}: {why}: {text}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_text_has_a_term_that_the_project_avoids() {
    let rules = include_str!("../../../../docs/.vale/Plumbline/Terms.yml");
    let rules: Map<String, Value> = serde_saphyr::from_str(rules).unwrap();
    let terms = rules["swap"].as_object().unwrap();
    assert!(terms.len() > 15);
    let texts = texts();
    let mut wrong = Vec::new();
    for (term, better) in terms {
        let term = GoRegex::new(&format!(r"(?i)\b(?:{term})\b")).unwrap();
        let found = texts.iter().filter(|(_, text)| term.is_match(text));
        wrong.extend(found.map(|(place, text)| format!("{place}: write {better}: {text}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
