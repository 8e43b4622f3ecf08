//! Local facts that the owner of the machine provides: files, and programs that print them.

use serde_json::{Map, Value};

use crate::gathering::Collector;
use crate::ini;
use crate::program::{Bounds, Programs};

/// Maximum number of files to read.
pub(crate) const MAX_FILES: usize = 64;
/// Maximum size in bytes of a file, and of the output of a program.
pub(crate) const MAX_BYTES: u64 = 1 << 20;
/// Timeout of one program.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// Timeout of all programs together.
const PATIENCE_WITH_ALL: std::time::Duration = std::time::Duration::from_secs(60);

/// The owner's execute bit, which is the one that Ansible checks.
const EXECUTABLE: u32 = 0o100;
/// The write bits of group and others. Anyone with write access to a file decides what runs in its
/// owner's name.
const WRITABLE_FOR_OTHERS: u32 = 0o022;

pub(crate) fn gather(gathering: &mut Collector<'_>) {
    let (source, options) = (gathering.source, gathering.options);
    let directory = options.facts_dir.trim_end_matches('/');
    let mut local = Map::new();
    // Most machines have no local facts.
    let names = gathering.keep_if_there("local", source.names(directory)).unwrap_or_default();
    let names: Vec<String> = names.into_iter().filter(|name| name.ends_with(".fact")).collect();
    if names.len() > MAX_FILES {
        gathering.miss(
            "local",
            format!("{directory} holds {} files; those after the first {MAX_FILES} are left out", names.len()),
        );
    }
    let begun = std::time::Instant::now();
    for name in names.iter().take(MAX_FILES) {
        let path = format!("{directory}/{name}");
        let key = name.replace(".fact", "");
        let left = PATIENCE_WITH_ALL.saturating_sub(begun.elapsed());
        match fact(gathering, &path, left.min(PATIENCE)) {
            Ok(value) => drop(local.insert(key, value)),
            Err(reason) => gathering.miss(&format!("local.{key}"), reason),
        }
    }
    gathering.set("local", local);
}

fn fact(gathering: &Collector<'_>, path: &str, patience: std::time::Duration) -> Result<Value, String> {
    let (source, options) = (gathering.source, gathering.options);
    let stat = source.stat(path).map_err(|reason| reason.to_string())?;
    let text = if stat.st_mode & EXECUTABLE != 0 {
        if !options.run_collectors {
            return Err(format!("{path} is a program, and was not run: `--run-collectors` was not given"));
        }
        let own = rustix::process::geteuid().as_raw();
        if (stat.st_uid != 0 && stat.st_uid != own) || stat.st_mode & WRITABLE_FOR_OTHERS != 0 {
            return Err(format!("{path} was not run: others than root and the user who gathers may change it"));
        }
        let bounds = Bounds { patience, bytes: MAX_BYTES };
        Programs::new(options).run(path, &[], bounds).map_err(|failure| failure.to_string())?
    } else {
        source.text(path, MAX_BYTES).map_err(|reason| reason.to_string())?
    };
    if let Ok(value) = serde_json::from_str(&text) {
        return Ok(value);
    }
    ini::parse(&text).map(Value::Object).map_err(|wrong| format!("{path} is neither JSON nor INI: {wrong}"))
}
