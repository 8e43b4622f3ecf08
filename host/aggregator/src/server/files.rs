//! Room for open files: each upload needs a connection and a file.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit on open files to what the system allows this process. The usual soft limit (1,024) is made for programs that use
/// `select`, and would end at 500 uploads at once.
pub(super) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let before = limit.current;
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!("the limit on open files stays at {before:?}: {error}");
    }
}
