//! How uploads and failures change the results.

use jiff::Timestamp;

use crate::ledger::apply::{Recorded, SettleScope};
use crate::ledger::error_record::ErrorRecord;
use crate::ledger::event::{Effect, Refusal, Stored};
use crate::ledger::state::{Held, Ledger, Outcome, TIMEOUT_ERROR, Upload, later};
use crate::limits::FAILED_UPLOADS;
use crate::name::{PluginName, ResultKey};

impl Ledger {
    /// Checks whether an upload of `key` may start now, as of the last event or tick. A server
    /// calls it before it reads a body.
    pub fn admit(&self, key: &ResultKey) -> Result<(), Refusal> {
        let entry = self.entry(key)?;
        // A held failure takes effect as soon as the current upload fails, so a retry is pointless.
        if entry.is_final() || entry.held.is_some() {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        match entry.upload {
            Some(_) => Err(Refusal::Busy(key.clone())),
            None => Ok(()),
        }
    }

    /// Checks that something may still happen to a result at `at`, like [`Ledger::admit`]. The window
    /// of its plugin may be over without a tick, and what is complete stays complete. Returns the index
    /// of the plugin.
    fn admit_at(&self, at: Timestamp, key: &ResultKey) -> Result<usize, Refusal> {
        self.admit(key)?;
        let plugin = self.plugin_of(key)?;
        if self.is_due(plugin, at) { Err(Refusal::AlreadyReceived(key.clone())) } else { Ok(plugin) }
    }

    pub(super) fn upload_started(&mut self, at: Timestamp, key: &ResultKey, id: u64) -> Recorded {
        let plugin = self.admit_at(at, key)?;
        let entry = self.entry_mut(key)?;
        entry.upload = Some(Upload { id, since: at, claimed: false });
        let timeout = |at| Held { error: ErrorRecord::new(TIMEOUT_ERROR), until: Some(later(at)) };
        entry.held = entry.timed_out.map(timeout);
        let holds = entry.held.is_some();
        self.note_held(plugin, holds);
        Ok(SettleScope::Nowhere)
    }

    /// Starts the retry window again. Nothing happens to a result without a failed upload.
    pub(super) fn retry_delayed(&mut self, at: Timestamp, key: &ResultKey, reason: String) -> Recorded {
        self.admit_at(at, key)?;
        let entry = self.entry_mut(key)?;
        if matches!(entry.outcome, Outcome::Broken { .. }) {
            entry.outcome = Outcome::Broken { at, reason };
            entry.timed_out = entry.timed_out.map(|_| at);
        }
        Ok(SettleScope::Nowhere)
    }

    /// Rejects an upload that is not the current one, or that is too late.
    fn check_upload(&self, at: Timestamp, key: &ResultKey, id: u64) -> Result<(), Refusal> {
        let entry = self.entry(key)?;
        if entry.is_final() || entry.is_overdue(at) {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        match entry.upload {
            Some(upload) if upload.id == id => Ok(()),
            _ => Err(Refusal::StaleUpload { key: key.clone(), upload: id }),
        }
    }

    pub(super) fn upload_claimed(&mut self, at: Timestamp, key: &ResultKey, id: u64) -> Recorded {
        self.check_upload(at, key, id)?;
        match &mut self.entry_mut(key)?.upload {
            Some(upload) if !upload.claimed => upload.claimed = true,
            _ => return Err(Refusal::StaleUpload { key: key.clone(), upload: id }),
        }
        Ok(SettleScope::Silent)
    }

    pub(super) fn upload_stored(
        &mut self,
        at: Timestamp,
        key: ResultKey,
        id: u64,
        stored: Stored,
        effects: &mut Vec<Effect>,
    ) -> Recorded {
        self.check_upload(at, &key, id)?;
        let plugin = self.plugin_of(&key)?;
        let entry = self.entry_mut(&key)?;
        entry.outcome = Outcome::Received { at, stored };
        entry.upload = None;
        entry.held = None;
        effects.push(Effect::ResultReceived { key });
        Ok(SettleScope::At(plugin))
    }

    /// Ends an upload without a result. `counts` says whether it counts toward [`FAILED_UPLOADS`].
    pub(super) fn upload_failed(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        id: u64,
        reason: String,
        counts: bool,
        effects: &mut Vec<Effect>,
    ) -> Recorded {
        self.check_upload(at, key, id)?;
        let plugin = self.plugin_of(key)?;
        let entry = self.entry_mut(key)?;
        entry.upload = None;
        entry.failed_uploads = entry.failed_uploads.saturating_add(counts.into());
        match entry.held.take() {
            Some(held) => entry.fail(at, held.error.with("upload", reason), effects),
            None if entry.failed_uploads >= FAILED_UPLOADS => entry.fail(at, too_many_uploads(&reason), effects),
            None => entry.outcome = Outcome::Broken { at, reason },
        }
        Ok(SettleScope::At(plugin))
    }

    pub(super) fn failed(
        &mut self,
        at: Timestamp,
        key: &ResultKey,
        error: ErrorRecord,
        effects: &mut Vec<Effect>,
    ) -> Recorded {
        let plugin = self.plugin_of(key)?;
        let due = self.is_due(plugin, at);
        let entry = self.entry_mut(key)?;
        if due || entry.is_final() || entry.held.is_some() {
            return Err(Refusal::AlreadyReceived(key.clone()));
        }
        let memory = error.memory();
        entry.fail_or_hold(at, error, None, effects);
        let holds = entry.held.is_some();
        self.note_held(plugin, holds);
        self.error_bytes = self.error_bytes.saturating_add(memory);
        Ok(SettleScope::At(plugin))
    }

    /// Notes that a failure of the plugin may be held, without a look at its other entries.
    fn note_held(&mut self, plugin: usize, held: bool) {
        if let Some(plugin) = self.plugins.get_mut(plugin) {
            plugin.holds |= held;
        }
    }

    pub(super) fn launch_failed(
        &mut self,
        at: Timestamp,
        plugin: &PluginName,
        reason: &str,
        effects: &mut Vec<Effect>,
    ) -> Recorded {
        let index = self.plugin_index(plugin)?;
        self.settle(index, at, effects);
        let mut memory = 0_usize;
        for entry in self.entries_of_mut(index).iter_mut().filter(|entry| !entry.is_final() && entry.held.is_none()) {
            let error = ErrorRecord::new(reason);
            memory = memory.saturating_add(error.memory());
            entry.fail_or_hold(at, error, None, effects);
        }
        self.error_bytes = self.error_bytes.saturating_add(memory);
        self.look_for_held(index);
        Ok(SettleScope::At(index))
    }

    pub(super) fn timed_out(&mut self, at: Timestamp, plugin: &PluginName, effects: &mut Vec<Effect>) -> Recorded {
        let index = self.plugin_index(plugin)?;
        self.settle(index, at, effects);
        for entry in self.entries_of_mut(index).iter_mut().filter(|entry| !entry.is_final()) {
            match (&mut entry.held, &entry.outcome) {
                (Some(held), _) => held.until = Some(held.until.map_or(later(at), |until| until.min(later(at)))),
                // Its retry window is short and ends by itself, and the reason of the failed upload
                // is more specific. A retry in this window must end in time.
                (None, Outcome::Broken { .. }) if entry.upload.is_none() => {
                    entry.timed_out.get_or_insert(at);
                }
                (None, _) => entry.fail_or_hold(at, ErrorRecord::new(TIMEOUT_ERROR), Some(later(at)), effects),
            }
        }
        self.look_for_held(index);
        Ok(SettleScope::At(index))
    }
}

/// Returns the error record for the last upload that may fail.
fn too_many_uploads(reason: &str) -> ErrorRecord {
    ErrorRecord::new(format!("{FAILED_UPLOADS} uploads failed, the maximum for a result; the last one: {reason}"))
}
