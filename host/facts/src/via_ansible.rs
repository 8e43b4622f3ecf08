//! The machine's own Ansible, asked for its facts.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::document::Document;
use crate::gather::gather_own;
use crate::options::Options;
use crate::program::{Bounds, Programs, search};
use crate::source::Source;

/// Ansible takes three seconds on a quiet machine, and waits for filesystems that do not answer.
const PATIENCE: Duration = Duration::from_secs(180);
/// A machine with 1,000 interfaces has 3 MiB of facts.
const MAX_BYTES: u64 = 32 << 20;

/// What stands before the facts in Ansible's answer.
const MARKS: [&str; 2] = ["SUCCESS => ", "FAILED! => "];

/// Facts that are not passed on: the environment of a process holds what it was given in confidence.
const LEFT_OUT: [&str; 1] = ["ansible_env"];

/// Ansible gave no facts.
#[derive(Debug, thiserror::Error)]
pub enum AnsibleError {
    /// There is none.
    #[error("no program `ansible` {0}")]
    Missing(String),
    /// It cannot be run, does not end, or ends badly.
    #[error("{0}")]
    Program(String),
    /// It ran, and `setup` failed.
    #[error("Ansible's `setup` failed: {0}")]
    Setup(String),
    /// Its answer is not understood.
    #[error("Ansible's answer is not understood: {0}")]
    Answer(String),
}

/// Facts from the machine's own Ansible, and ours about a node besides.
///
/// # Errors
/// [`AnsibleError`] where there is no Ansible, or it does not answer as it should within three minutes.
pub fn gather_via_ansible(options: &Options) -> Result<Document, AnsibleError> {
    let source = Source::new(&options.root);
    let program = find(options, &source)?;
    // Ansible refuses to start without a place to write to; what it leaves there goes with this directory. Below a foreign root, that
    // root's own place for passing things has to do.
    let place =
        tempfile::tempdir().map_err(|error| AnsibleError::Program(format!("no directory for Ansible: {error}")))?;
    let home = if source.is_foreign() { PathBuf::from("/tmp") } else { place.path().to_owned() };
    let programs = Programs::new(options)
        .with("HOME", &home)
        .with("ANSIBLE_HOME", home.join(".ansible"))
        .with("ANSIBLE_LOCAL_TEMP", home.join(".ansible/tmp"))
        .with("ANSIBLE_REMOTE_TEMP", home.join(".ansible/tmp"))
        .with("ANSIBLE_NOCOLOR", "1")
        .with("ANSIBLE_LOCALHOST_WARNING", "False")
        .with("ANSIBLE_INVENTORY_UNPARSED_WARNING", "False")
        .with("LC_ALL", "C.UTF-8");
    // An Ansible that was found by our `PATH` finds what it needs by the same.
    let programs = match std::env::var_os("PATH").filter(|_| !source.is_foreign()) {
        Some(path) => programs.with("PATH", path),
        None => programs,
    };
    // The interpreter is the one that Ansible itself runs on: it is there. Ansible searches for another where it reaches other machines.
    let facts_dir = format!("fact_path={}", options.facts_dir);
    let mut arguments = vec!["localhost", "-i", "localhost,", "-c", "local", "-m", "setup"];
    arguments.extend(["-e", "ansible_python_interpreter={{ansible_playbook_python}}"]);
    // Without leave to run collectors, Ansible must not run them either: the files beside them are then read here.
    let subset = if options.run_collectors { facts_dir } else { "gather_subset=!local".to_owned() };
    arguments.extend(["-a", subset.as_str()]);
    let answer = programs.run(&program, &arguments, Bounds { patience: PATIENCE, bytes: MAX_BYTES });
    let facts = facts(&answer.map_err(|failure| AnsibleError::Program(failure.to_string()))?)?;
    let mut document = gather_own(options);
    document.ansible_facts.extend(facts);
    Ok(document)
}

fn find(options: &Options, source: &Source) -> Result<String, AnsibleError> {
    if let Some(program) = &options.ansible {
        return Ok(program.display().to_string());
    }
    if source.is_foreign() {
        let missing = || AnsibleError::Missing(format!("in the usual directories below {}", options.root.display()));
        return Programs::find(source, "ansible").ok_or_else(missing);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = search(&path, "ansible").map(|program| program.display().to_string());
    let found = found.or_else(|| Programs::find(source, "ansible"));
    found.ok_or_else(|| AnsibleError::Missing("in the directories of `PATH`".to_owned()))
}

fn facts(answer: &str) -> Result<Map<String, Value>, AnsibleError> {
    let begin = MARKS.iter().find_map(|mark| answer.find(mark).map(|at| at + mark.len()));
    let text = begin.and_then(|begin| answer.get(begin..)).unwrap_or_default();
    // There may be words after the document.
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let document = match documents.next() {
        Some(Ok(document)) => document,
        Some(Err(error)) => return Err(AnsibleError::Answer(error.to_string())),
        None => return Err(AnsibleError::Answer("it holds no facts".to_owned())),
    };
    if let Some(message) = document.get("msg").and_then(Value::as_str) {
        return Err(AnsibleError::Setup(message.to_owned()));
    }
    match document {
        Value::Object(mut fields) => match fields.remove("ansible_facts") {
            Some(Value::Object(mut facts)) => {
                for name in LEFT_OUT {
                    facts.remove(name);
                }
                Ok(facts)
            }
            _ => Err(AnsibleError::Answer("it has no object `ansible_facts`".to_owned())),
        },
        _ => Err(AnsibleError::Answer("it is not an object".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_among_words_and_secrets_are_left_out() {
        let answer = "[WARNING]: x\nlocalhost | SUCCESS => {\"ansible_facts\": {\"ansible_kernel\": \"6\", \"ansible_env\": {\"TOKEN\": \"s\"}}, \"changed\": false}\n";
        assert_eq!(Value::from(facts(answer).unwrap()), serde_json::json!({"ansible_kernel": "6"}));
        let failed = "localhost | FAILED! => {\"changed\": false, \"msg\": \"no interpreter\"}\n";
        assert_eq!(facts(failed).unwrap_err().to_string(), "Ansible's `setup` failed: no interpreter");
        assert!(facts("nothing").is_err());
        assert!(facts("localhost | SUCCESS => {\"ansible_facts\"").is_err());
    }
}
