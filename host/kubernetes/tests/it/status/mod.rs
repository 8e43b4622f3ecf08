//! The status of a run: written, read, watched.

mod bed;
mod publish;
mod publish_last;
mod read;
mod watch;
mod workers;
