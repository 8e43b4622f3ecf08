//! Hides the credentials of this process from other processes of the node.

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// Makes `/proc/PID/environ`, `/proc/PID/root` and the memory of this process unreadable without
/// `CAP_SYS_PTRACE`. A plugin that sees the processes of its node could otherwise read the
/// certificates of other plugins.
pub fn conceal() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!("other processes of this user can read the credentials of this one: {error}");
    }
}
