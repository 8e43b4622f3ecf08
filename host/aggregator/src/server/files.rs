//! Limit on open files. Each upload needs a connection and a file.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit on open files to the maximum of this process. The usual soft limit of 1,024 is
/// meant for programs that use `select`. It would allow only about 500 concurrent uploads.
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
