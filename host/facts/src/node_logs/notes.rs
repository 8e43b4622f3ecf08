//! A bounded list of notes about unexpected events.

/// Maximum number of notes. Further ones are only counted.
const MAX_NOTES: usize = 64;

/// Maximum size of a note in bytes.
const MAX_NOTE: usize = 2 << 10;

/// Notes about problems that do not make the logs useless.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    kept: Vec<String>,
    further: usize,
}

impl Notes {
    pub(crate) fn add(&mut self, note: impl Into<String>) {
        if self.kept.len() == MAX_NOTES {
            self.further += 1;
            return;
        }
        let mut note = note.into();
        if note.len() > MAX_NOTE {
            note.truncate(note.floor_char_boundary(MAX_NOTE));
            note.push('…');
        }
        self.kept.push(note);
    }

    /// Returns all notes, with a count of those that were dropped.
    pub(crate) fn into_vec(mut self) -> Vec<String> {
        if self.further > 0 {
            self.kept.push(format!("{} further notes are left out", self.further));
        }
        self.kept
    }
}
