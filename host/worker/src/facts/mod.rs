//! Facts of a machine, read from `/proc`, `/sys` and `/etc`: what `plumbline worker facts` prints and the plugin `host-facts` collects.
//!
//! [`gather`] takes the root of a file tree: `/` for this machine, or the place where another root is mounted. It runs no program,
//! opens no socket and never fails as a whole: a fact that cannot be read is left out and named, with the reason, in
//! [`Facts::errors`]. Every file is read up to a bound, because a tree that is not ours may hold anything.
//!
//! The shape is the one that users of Ansible know: an object `ansible_facts` whose keys bear the names of Ansible's facts without
//! the prefix `ansible_` (`hostname`, `kernel`, `memtotal_mb`). Two things differ: addresses stand under `links`, one entry per
//! interface, since a key per interface would let an interface named `hostname` replace a fact; and mounts carry no sizes, since
//! asking for them blocks on a network filesystem that is gone.
//!
//! ```no_run
//! let facts = plumbline_worker::facts::gather(std::path::Path::new("/"));
//! println!("{}", facts.to_json());
//! ```

mod cgroup;
mod data;
mod gather;
mod hardware;
mod memory;
mod mounts;
mod network;
mod os;
mod source;
mod virtualization;
mod write;

#[cfg(test)]
mod board_tests;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use data::{DefaultRoute, Dns, FactError, Facts, HostFacts, Ipv4, Ipv6, Link, Mount};
pub use gather::gather;
pub use write::WriteError;
