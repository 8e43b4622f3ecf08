//! The items of a finished tree, kept for its judges.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::replay::Replay;
use super::spool::Spool;
use crate::judging::ItemWriter;

/// Writes the items of `spools`, resolved, to the file at `path`. The first `sets` of them are of result sets, per node or not; what
/// follows is a summarizer's.
pub(super) fn keep(path: &Path, spools: Vec<Spool>, sets: usize, per_node: bool) -> io::Result<()> {
    let mut replay = Replay::new(Arc::new(spools), false);
    let mut writer = ItemWriter::create(path)?;
    while let Some(item) = replay.item()? {
        // After an item was given, the place is still that of its own spool.
        if replay.at() >= sets {
            writer.summary(item)?;
        } else if per_node && item.depth == 0 {
            writer.node(item)?;
        } else if per_node {
            writer.below_node(item)?;
        } else {
            writer.global(item)?;
        }
    }
    writer.finish()
}
