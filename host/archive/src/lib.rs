//! Safe reading and writing of `.tar.gz`, and the layout of the results archive.
//!
//! | module | what for |
//! |---|---|
//! | [`extract`] | an upload, onto disk, under limits |
//! | [`pack`] | a directory, into a `.tar.gz` that is the same bytes every time |
//! | [`results`] | a results archive of any version, file by file, without unpacking it |
//! | [`layout`] | what is where in a results archive |
//! | [`atomic`] | files that are there whole or not at all |
//! | [`disk`] | steps on the file system, which tests can fail or interrupt |
//! | [`finished`] | the finished archives of an aggregator: a list, and ranges of bytes |
//! | [`splat`], [`unsplat`] | all of them as one stream, and out of it again |
//! | [`snapshot`] | what a run has gathered so far |
//! | [`gzip`], [`member`] | the formats underneath |
//!
//! Everything here blocks: it is meant for a thread of its own.
#![forbid(unsafe_code)]

pub mod atomic;
pub mod disk;
pub mod extract;
pub mod finished;
pub mod gzip;
pub mod layout;
pub mod member;
pub mod pack;
pub mod results;
pub mod snapshot;
pub mod splat;
pub mod unsplat;
mod walk;
