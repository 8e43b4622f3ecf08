//! Searches for credentials: tokens in the file system, and those of other processes of the node.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plumbline_kubernetes::names;

use super::attempts::{Attempt, Attempts};

/// The path of tokens that the kubelet mounts.
const TOKEN: &str = "var/run/secrets/kubernetes.io/serviceaccount/token";
const MAX_PROCESSES: usize = 20_000;
/// How long it searches for the worker of the victim.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a process takes to start on a busy machine.
const STARTED: Duration = Duration::from_secs(5);
/// The pause between two searches.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct Loot {
    /// Tokens for the API server, with their places.
    pub(super) tokens: Vec<(String, String)>,
    pub(super) certificates: Vec<Certificate>,
}

#[derive(Debug)]
pub(super) struct Certificate {
    pub(super) found: String,
    pub(super) pem: String,
}

pub(super) async fn search(victim: &str, host_processes: bool, attempts: &mut Attempts) -> Loot {
    let mut loot = Loot::default();
    token(Path::new("/"), "this pod", &mut loot, attempts);
    if host_processes {
        look_at_processes(victim, &mut loot, attempts).await;
    }
    loot
}

fn token(root: &Path, place: &str, loot: &mut Loot, attempts: &mut Attempts) {
    let attempt = match fs::read_to_string(root.join(TOKEN)) {
        Ok(token) => {
            loot.tokens.push((place.to_owned(), token.trim().to_owned()));
            Attempt::Failed("there is one".to_owned())
        }
        Err(_) => Attempt::Refused,
    };
    attempts.add(format!("find a token for the API server in {place}"), attempt);
}

/// Searches workers and the aggregator among the processes of the node. Without a worker of the
/// victim, the attempt shows nothing.
async fn look_at_processes(victim: &str, loot: &mut Loot, attempts: &mut Attempts) {
    let deadline = Instant::now() + PATIENCE;
    let mut found = processes();
    while !(found.iter().any(|(_, role)| *role == Role::Victim)
        && found.iter().any(|(_, role)| *role == Role::Aggregator))
    {
        if Instant::now() >= deadline {
            let why =
                format!("the worker of `{victim}` and the aggregator are not both among the processes of this node");
            attempts.add("see the processes of the node", Attempt::Failed(why));
            break;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        found = processes();
    }
    // A process hides its credentials when it starts, and can be read before
    // (docs/threat-model.md), so only processes that have started are tried.
    tokio::time::sleep(STARTED).await;
    for (process, role) in found {
        let name = match role {
            Role::Victim => "a worker of another plugin",
            Role::Aggregator => "the aggregator",
        };
        match fs::read(process.join("environ")) {
            Err(_) => attempts.add(format!("read the environment of {name}"), Attempt::Refused),
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let value =
                    |key: &str| text.split('\0').find_map(|variable| variable.strip_prefix(key)?.strip_prefix('='));
                if let (Some(certificate), Some(key)) = (value("CLIENT_CERT"), value("CLIENT_KEY")) {
                    let found = format!("the environment of {name}");
                    loot.certificates.push(Certificate { found, pem: format!("{certificate}\n{key}") });
                }
                attempts.add(format!("read the environment of {name}"), Attempt::Failed("it can be read".to_owned()));
            }
        }
        let root = process.join("root");
        token(&root, &format!("the file system of {name}"), loot, attempts);
        if role == Role::Aggregator {
            let files = root.join(names::AGGREGATOR_DIR.trim_start_matches('/'));
            let attempt = match fs::read_dir(&files) {
                Ok(_) => Attempt::Failed("its directory can be listed".to_owned()),
                Err(_) => Attempt::Refused,
            };
            attempts.add("list the files of the aggregator", attempt);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Victim,
    Aggregator,
}

/// The victim is a Job and this plugin a DaemonSet, so their workers have different command lines,
/// which every process can read.
fn processes() -> Vec<(PathBuf, Role)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let role = |process: &Path| {
        let line = fs::read(process.join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        match words.as_slice() {
            [_, b"worker", b"global", ..] => Some(Role::Victim),
            [_, b"aggregator", ..] => Some(Role::Aggregator),
            _ => None,
        }
    };
    let processes = entries.take(MAX_PROCESSES).filter_map(Result::ok).map(|entry| entry.path());
    processes.filter_map(|process| role(&process).map(|role| (process, role))).collect()
}
