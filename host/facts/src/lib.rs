//! Facts of a machine: what `plumbline worker facts` prints and the plugin `host-facts` collects.
//!
//! [`gather`] takes the root of a file tree: `/` for this machine, or the place where another root is mounted. It never fails as a whole:
//! a fact that cannot be read is left out and named, with the reason, in [`Document::errors`]. Every file is read up to a bound, because
//! a tree that is not ours may hold anything, and nothing is ever written below the root. Programs of the machine run only where the
//! [`Options`] say so, within bounds of time and output.
//!
//! The shape is that of Ansible's module `setup`: [`Document::ansible_facts`] has its names and its types of values. What it does not
//! have and matters on a node of a cluster stands in [`Document::plumbline_facts`]. `docs/host-facts.md` lists both.
//!
//! ```no_run
//! let facts = plumbline_facts::gather(&plumbline_facts::Options::new("/"));
//! println!("{}", facts.to_json());
//! ```
#![forbid(unsafe_code)]

mod ansible;
mod document;
mod gather;
mod gathering;
mod ini;
mod node;
pub mod node_logs;
mod options;
mod program;
mod source;
mod statvfs;
mod via_ansible;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod machines;

pub use document::{Document, FactError, WriteError};
pub use gather::gather;
pub use options::{DEFAULT_FACTS_DIR, Options};
pub use via_ansible::{AnsibleError, gather_via_ansible};
