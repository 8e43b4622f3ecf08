//! Safe reading and writing of `.tar.gz`, and the layout of the results archive.
//!
//! | module | what for |
//! |---|---|
//! | [`extract`] | an upload, onto disk, under limits |
//! | [`pack`] | a directory, into a `.tar.gz` that is the same bytes every time |
//! | [`results`] | a results archive of any version, file by file, without unpacking it |
//! | [`layout`] | what is where in a results archive |
//! | [`atomic`] | files that are there whole or not at all |
//! | [`gzip`], [`member`] | the formats underneath |
//!
//! Everything here blocks: it is meant for a thread of its own.
#![forbid(unsafe_code)]

pub mod atomic;
pub mod extract;
pub mod gzip;
pub mod layout;
pub mod member;
pub mod pack;
pub mod results;
mod walk;
