//! Finds and terminates processes that a killed aggregator left behind, by means of their records.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process_group};

/// Records that process `id` is the leader of a process group of this run.
pub(crate) fn record(dir: &Path, id: u32) -> io::Result<()> {
    let Some(started) = start_time(id) else { return Ok(()) };
    fs::create_dir_all(dir)?;
    fs::write(dir.join(id.to_string()), started)
}

/// Kills every recorded process group whose leader is still the same process. IDs are reused, and
/// the start time distinguishes two processes with the same ID.
pub(crate) fn end_all(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let id = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some(id) = id
            && start_time(id).is_some_and(|now| fs::read_to_string(entry.path()).is_ok_and(|then| then == now))
            && let Some(group) = i32::try_from(id).ok().and_then(Pid::from_raw)
        {
            tracing::info!("ending process group {id} of this run");
            // An error means that the group has already ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
        fs::remove_file(entry.path())?;
    }
    Ok(())
}

/// Returns field 22 of `/proc/ID/stat` (proc(5)). Fields are counted after the command's name,
/// which may contain spaces and parentheses.
fn start_time(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn only_the_very_process_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let spawn = || Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let (mut ours, mut other) = (spawn(), spawn());
        record(dir.path(), ours.id()).unwrap();
        fs::write(dir.path().join(other.id().to_string()), "1").unwrap();
        end_all(dir.path()).unwrap();
        assert!(!ours.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none(), "a process that only has the same id lives on");
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
