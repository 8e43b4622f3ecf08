//! Gathers facts with the machine's own Ansible.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::collector::{Collector, Document, Options};
use crate::program::{self, Bounds};
use crate::source::Source;
use crate::{ansible, node};

/// Timeout for Ansible. It takes three seconds on a quiet machine, and waits for filesystems that
/// do not answer.
const PATIENCE: Duration = Duration::from_secs(180);
/// Maximum size of the output in bytes. A machine with 1,000 interfaces has 3 MiB of facts.
const MAX_BYTES: u64 = 32 << 20;

/// The text before the facts in Ansible's output.
const MARKS: [&str; 2] = ["SUCCESS => ", "FAILED! => "];

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
    let place = tempfile::tempdir()
        .map_err(|error| AnsibleError::Program(format!("failed to create a directory for Ansible: {error}")))?;
    let home = if source.is_foreign() { PathBuf::from("/tmp") } else { place.path().to_owned() };
    let mut variables: Vec<(&str, OsString)> = vec![
        ("HOME", home.clone().into()),
        ("ANSIBLE_HOME", home.join(".ansible").into()),
        ("ANSIBLE_LOCAL_TEMP", home.join(".ansible/tmp").into()),
        ("ANSIBLE_REMOTE_TEMP", home.join(".ansible/tmp").into()),
        ("ANSIBLE_NOCOLOR", "1".into()),
        ("ANSIBLE_LOCALHOST_WARNING", "False".into()),
        ("ANSIBLE_INVENTORY_UNPARSED_WARNING", "False".into()),
        ("LC_ALL", "C.UTF-8".into()),
    ];
    // An Ansible that was found through this process's `PATH` needs the same `PATH` for its own
    // programs.
    if !source.is_foreign() {
        variables.extend(std::env::var_os("PATH").map(|path| ("PATH", path)));
    }
    // Use the interpreter on which Ansible itself runs, because it exists. Ansible would search for
    // another one, as it does for remote machines.
    let facts_dir = format!("fact_path={}", options.facts_dir);
    let mut arguments = vec!["localhost", "-i", "localhost,", "-c", "local", "-m", "setup"];
    arguments.extend(["-e", "ansible_python_interpreter={{ansible_playbook_python}}"]);
    // If collectors may not run, Ansible must not run them either. The plain files are read below.
    let subset = if options.run_collectors { facts_dir } else { "gather_subset=!local".to_owned() };
    arguments.extend(["-a", subset.as_str()]);
    let bounds = Bounds { patience: PATIENCE, bytes: MAX_BYTES };
    let answer = program::run(options, &program, &arguments, &variables, bounds).map_err(AnsibleError::Program)?;
    let facts = facts(&answer)?;
    let mut collector = Collector::new(&source, options, "ansible");
    ansible::gather_local(&mut collector);
    node::gather(&mut collector);
    let mut document = collector.finish();
    document.ansible_facts.extend(facts);
    Ok(document)
}

fn find(options: &Options, source: &Source) -> Result<String, AnsibleError> {
    if let Some(program) = &options.ansible {
        return Ok(program.display().to_string());
    }
    if source.is_foreign() {
        let missing = || AnsibleError::Missing(format!("in the usual directories below {}", options.root.display()));
        return program::find(source, "ansible").ok_or_else(missing);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = program::search(&path, "ansible").map(|program| program.display().to_string());
    let found = found.or_else(|| program::find(source, "ansible"));
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
        None => return Err(AnsibleError::Answer("it has no facts".to_owned())),
    };
    if let Some(message) = document.get("msg").and_then(Value::as_str) {
        return Err(AnsibleError::Setup(message.to_owned()));
    }
    let Value::Object(mut fields) = document else {
        return Err(AnsibleError::Answer("it is not an object".to_owned()));
    };
    let Some(Value::Object(mut facts)) = fields.remove("ansible_facts") else {
        return Err(AnsibleError::Answer("it has no object `ansible_facts`".to_owned()));
    };
    // The environment of a process may hold secrets.
    facts.remove("ansible_env");
    Ok(facts)
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
