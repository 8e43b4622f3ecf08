//! Gathers facts about a machine, for `plumbline facts` and the plugin `host-facts`.
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
mod collector;
mod mounts;
mod node;
pub mod node_logs;
mod program;
mod source;
mod via_ansible;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod machines;

pub use collector::{DEFAULT_FACTS_DIR, Document, FactError, Options, WriteError};
pub use via_ansible::{AnsibleError, gather_via_ansible};

/// Gathers the facts of a machine.
///
/// This never fails: unreadable facts are left out and listed in [`Document::errors`]. It reads
/// files, and asks the kernel for what no file holds: release, filesystem sizes and interface
/// addresses. It runs programs only if the options allow it.
pub fn gather(options: &Options) -> Document {
    let source = source::Source::new(&options.root);
    let mut collector = collector::Collector::new(&source, options, "plumbline");
    ansible::gather(&mut collector);
    node::gather(&mut collector);
    collector.finish()
}
