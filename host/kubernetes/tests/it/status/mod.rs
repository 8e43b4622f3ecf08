//! The status of a run: written, read and watched.

mod bed;
mod publish;
mod publish_last;
mod read;
mod watch;
mod workers;
