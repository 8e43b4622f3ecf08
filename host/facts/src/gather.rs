//! Goes through all facts once.

use crate::document::Document;
use crate::gathering::Gathering;
use crate::options::Options;
use crate::source::Source;
use crate::{ansible, node};

/// Finds out what can be found out about a machine.
///
/// Never fails: what cannot be read is left out and named in [`Document::errors`]. Reads files; beyond that it asks the kernel for what
/// no file tells (its release, the sizes of filesystems, the addresses of interfaces), and runs programs only if the options say so.
#[must_use]
pub fn gather(options: &Options) -> Document {
    let source = Source::new(&options.root);
    let mut gathering = Gathering::new(&source, options);
    ansible::gather(&mut gathering);
    node::gather(&mut gathering);
    gathering.finish("plumbline")
}

/// [`Document::plumbline_facts`], and of Ansible's facts only those from files of the machine's owner, for somebody who adds the others.
pub(crate) fn gather_own(options: &Options) -> Document {
    let source = Source::new(&options.root);
    let mut gathering = Gathering::new(&source, options);
    ansible::gather_local(&mut gathering);
    node::gather(&mut gathering);
    gathering.finish("ansible")
}
