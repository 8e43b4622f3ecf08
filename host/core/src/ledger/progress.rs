//! How progress is taken in.

use jiff::Timestamp;

use crate::ledger::effect::{Effect, Refusal};
use crate::ledger::state::{Ledger, MAX_PROGRESS_BYTES};
use crate::name::ResultKey;
use crate::progress::{ProgressUpdate, combine};

impl Ledger {
    pub(super) fn progressed(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        mut update: ProgressUpdate,
        effects: &mut Vec<Effect>,
    ) -> Result<super::apply::Look, Refusal> {
        let others_and_own = self.progress_bytes;
        let entry = self.entry_mut(key)?;
        let own = entry.progress.as_ref().map_or(0, ProgressUpdate::name_bytes);
        let others = others_and_own.saturating_sub(own);
        update.stamp(key, at);
        let mut state = combine(entry.progress.as_ref(), update);
        state.trim_names(MAX_PROGRESS_BYTES.saturating_sub(others));
        let bytes = others.saturating_add(state.name_bytes());
        entry.progress = Some(state);
        self.progress_bytes = bytes;
        effects.push(Effect::StatusChanged);
        Ok(super::apply::Look::Nowhere)
    }
}
