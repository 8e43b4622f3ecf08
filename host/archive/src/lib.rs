//! Safe reading and writing of `.tar.gz` files, and the layout of the results archive.
//!
//! | module | purpose |
//! |---|---|
//! | [`extract`] | unpack an upload to disk, within limits |
//! | [`pack`] | pack a directory into a reproducible `.tar.gz` |
//! | [`results`] | read a results archive of any version, file by file, without unpacking it |
//! | [`layout`] | the paths in a results archive |
//! | [`atomic`] | files that are written completely or not at all |
//! | [`disk`] | file system steps that tests can fail or interrupt |
//! | [`finished`] | list the finished archives of an aggregator, read ranges of them, and pack a run in progress |
//! | [`splat`] | send and receive all of them as one stream |
//! | [`gzip`], [`member`] | the underlying formats |
//!
//! All functions block, so call them on a thread of their own.
#![forbid(unsafe_code)]

pub mod atomic;
mod bounded;
pub mod disk;
pub mod extract;
pub mod finished;
pub mod gzip;
pub mod layout;
pub mod member;
#[cfg(test)]
mod messages;
pub mod pack;
pub mod results;
pub mod splat;
mod walk;
