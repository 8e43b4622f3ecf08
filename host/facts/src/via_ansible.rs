//! Gathers facts with the machine's own Ansible.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::document::Document;
use crate::gather::gather_own;
use crate::options::Options;
use crate::program::{Bounds, Programs, search};
use crate::source::Source;

/// Timeout for Ansible. It takes three seconds on a quiet machine, and waits for filesystems that
/// do not answer.
const PATIENCE: Duration = Duration::from_secs(180);
/// Maximum size of the output in bytes. A machine with 1,000 interfaces has 3 MiB of facts.
const MAX_BYTES: u64 = 32 << 20;

/// The text before the facts in Ansible's output.
const MARKS: [&str; 2] = ["SUCCESS => ", "FAILED! => "];

/// Facts that are dropped. The environment of a process may hold secrets.
const LEFT_OUT: [&str; 1] = ["ansible_env"];

/// Error while gathering facts with Ansible.
#[derive(Debug, thiserror::Error)]
pub enum AnsibleError {
    /// There is no Ansible on the machine.
    #[error("no program `ansible` {0}")]
    Missing(String),
    /// Ansible could not be run, timed out, or failed.
    #[error("{0}")]
    Program(String),
    /// Ansible ran, but `setup` failed.
    #[error("Ansible's `setup` failed: {0}")]
    Setup(String),
    /// The output could not be parsed.
    #[error("failed to parse Ansible's output: {0}")]
    Answer(String),
}

/// Gathers the facts of the machine's own Ansible, and Plumbline's facts about the node.
///
/// # Errors
/// Returns [`AnsibleError`] if there is no Ansible, or if it fails, prints something unexpected, or
/// takes more than three minutes.
pub fn gather_via_ansible(options: &Options) -> Result<Document, AnsibleError> {
    let source = Source::new(&options.root);
    let program = find(options, &source)?;
    // Ansible needs a writable home directory, and what it leaves there is removed with this one.
    // Below a foreign root, `/tmp` of that root is used instead.
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
    // An Ansible that was found through this process's `PATH` needs the same `PATH` for its own
    // programs.
    let programs = match std::env::var_os("PATH").filter(|_| !source.is_foreign()) {
        Some(path) => programs.with("PATH", path),
        None => programs,
    };
    // Use the interpreter on which Ansible itself runs, because it exists. Ansible would search for
    // another one, as it does for remote machines.
    let facts_dir = format!("fact_path={}", options.facts_dir);
    let mut arguments = vec!["localhost", "-i", "localhost,", "-c", "local", "-m", "setup"];
    arguments.extend(["-e", "ansible_python_interpreter={{ansible_playbook_python}}"]);
    // If collectors may not run, Ansible must not run them either. The plain files are then read by
    // `gather_own`.
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
    // There may be more text after the document.
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
