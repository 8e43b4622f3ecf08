//! Storage of a finished tree's items for its judges.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::replay::Replay;
use super::spool::Spool;
use crate::judging::ItemWriter;

/// Writes the items of resolved `spools` to the file `path`. The first `sets` spools are result
/// sets. The rest are items of a summarizer.
pub(super) fn keep(path: &Path, spools: Vec<Spool>, sets: usize, per_node: bool) -> io::Result<()> {
    let mut replay = Replay::new(Arc::new(spools), false);
    let mut writer = ItemWriter::create(path)?;
    while let Some(item) = replay.item()? {
        // `at` still refers to the spool of the item that was just returned.
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
