//! Gathers facts about a machine, for `plumbline worker facts` and the plugin `host-facts`.
//!
//! [`gather`] takes the root of a file tree: `/` for this machine, or the directory where another
//! root is mounted. It never fails as a whole. A fact that cannot be read is left out, and
//! [`Document::errors`] lists it with the reason. Every file read has a size limit, because a
//! foreign tree may hold anything. Nothing is ever written below the root. Programs of the machine
//! run only where the [`Options`] allow it, with limits on time and output.
//!
//! The format follows Ansible's `setup` module: [`Document::ansible_facts`] uses its names and its
//! value types. [`Document::plumbline_facts`] holds further facts that matter on a cluster node.
//! `docs/host-facts.md` lists both.
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
