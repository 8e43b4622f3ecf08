//! Gathers all facts once.

use crate::document::Document;
use crate::gathering::Collector;
use crate::options::Options;
use crate::source::Source;
use crate::{ansible, node};

/// Gathers the facts of a machine.
///
/// This never fails: unreadable facts are left out and listed in [`Document::errors`]. It reads
/// files, and asks the kernel for what no file holds: release, filesystem sizes and interface
/// addresses. It runs programs only if the options allow it.
#[must_use]
pub fn gather(options: &Options) -> Document {
    let source = Source::new(&options.root);
    let mut gathering = Collector::new(&source, options);
    ansible::gather(&mut gathering);
    node::gather(&mut gathering);
    gathering.finish("plumbline")
}

/// Gathers [`Document::plumbline_facts`] and the local facts. The caller adds the other facts of
/// Ansible.
pub(crate) fn gather_own(options: &Options) -> Document {
    let source = Source::new(&options.root);
    let mut gathering = Collector::new(&source, options);
    ansible::gather_local(&mut gathering);
    node::gather(&mut gathering);
    gathering.finish("ansible")
}
