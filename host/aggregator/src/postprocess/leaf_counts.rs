//! Counts of leaves, on which the host's own items and the verdict depend.

use plumbline_core::Status;

/// How an item counts if it is a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeafKind {
    /// Failed or timed out.
    Failed,
    /// Skipped.
    Skipped,
    /// Collected but not read.
    NotRead,
    /// A custom status of the plugin.
    Custom,
    /// Passed or unknown.
    Other,
}

impl LeafKind {
    pub(super) fn of(status: Option<&Status>) -> Self {
        match status {
            Some(Status::Failed | Status::Timeout) => Self::Failed,
            Some(Status::Skipped) => Self::Skipped,
            Some(Status::NotRead) => Self::NotRead,
            Some(Status::Custom(_)) => Self::Custom,
            Some(Status::Passed | Status::Unknown) | None => Self::Other,
        }
    }
}

/// Numbers of leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LeafCounts {
    pub(super) all: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) not_read: u64,
    pub(super) custom: u64,
}

impl LeafCounts {
    /// Returns the counts with one more leaf.
    pub(super) fn with(mut self, kind: LeafKind) -> Self {
        self.all += 1;
        match kind {
            LeafKind::Failed => self.failed += 1,
            LeafKind::Skipped => self.skipped += 1,
            LeafKind::NotRead => self.not_read += 1,
            LeafKind::Custom => self.custom += 1,
            LeafKind::Other => {}
        }
        self
    }

    /// Returns the counts of the leaves after `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            all: self.all.saturating_sub(earlier.all),
            failed: self.failed.saturating_sub(earlier.failed),
            skipped: self.skipped.saturating_sub(earlier.skipped),
            not_read: self.not_read.saturating_sub(earlier.not_read),
            custom: self.custom.saturating_sub(earlier.custom),
        }
    }

    /// Returns whether there are leaves, and none of them was read.
    pub(super) fn is_unread(self) -> bool {
        self.all > 0 && self.all == self.not_read
    }

    /// Returns whether no leaf ran: each of them was skipped or not read.
    pub(super) fn ran_nothing(self) -> bool {
        self.all == self.skipped.saturating_add(self.not_read)
    }
}
