//! What was odd, in sentences, bounded.

/// Notes that are kept. The rest is counted.
const MAX_NOTES: usize = 64;

/// Bytes of one note.
const MAX_NOTE: usize = 2 << 10;

/// What a person should know about the logs that does not keep them from being useful.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    kept: Vec<String>,
    further: usize,
}

impl Notes {
    /// Adds one.
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

    /// All of them.
    pub(crate) fn into_vec(mut self) -> Vec<String> {
        if self.further > 0 {
            self.kept.push(format!("{} further notes are left out", self.further));
        }
        self.kept
    }
}
