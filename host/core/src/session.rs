//! The session ID of a plugin in a run, as used in labels and object names.

use crate::name::{PluginName, RunId};

/// Returns the session ID of a plugin in a run: 16 lower-case hexadecimal digits.
///
/// The same input always yields the same ID, so that a restarted aggregator finds the objects that
/// it created before. Every plugin of a run has a different ID, because selectors of two DaemonSets
/// must not overlap.
#[must_use]
pub fn session_id(run: &RunId, plugin: &PluginName) -> String {
    // FNV-1a with 64 bits is enough: the IDs only have to differ and are not a security measure.
    let bytes = run.to_string().into_bytes().into_iter().chain([0]).chain(plugin.as_str().bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_for_each_plugin_of_each_run() {
        let run: RunId = "7f3a9c00-0000-4000-8000-000000000001".parse().unwrap();
        let other = RunId::random();
        let (e2e, logs) = ("e2e".parse().unwrap(), "systemd-logs".parse().unwrap());
        let id = session_id(&run, &e2e);
        assert_eq!(id.len(), 16);
        assert_eq!(id, session_id(&run, &e2e));
        assert_ne!(id, session_id(&run, &logs));
        assert_ne!(id, session_id(&other, &e2e));
    }
}
