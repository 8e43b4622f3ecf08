//! The state of one document: that of the file, or of a subtest.

use plumbline_sdk::text::counted;

/// The largest test number that is compared with the plan.
const MAX_NUMBER: u64 = 1_000_000;

/// The state of an unfinished document.
#[derive(Debug, Default)]
pub(crate) struct Level {
    /// The index of the subtest's item among the held items; `None` if it has none, or if it was
    /// already emitted.
    pub(crate) item: Option<usize>,
    /// The name of a subtest that a comment announced.
    pub(crate) announced: Option<String>,
    plan: Option<u64>,
    plans: u32,
    reason: String,
    points: u64,
    number: u64,
    largest: u64,
    seen: Vec<bool>,
    repeated: Option<u64>,
}

/// Whether a document kept its plan.
#[derive(Debug, PartialEq)]
pub(crate) enum Kept {
    Yes,
    /// The document planned no test, for this reason, and there was none.
    NoTests(String),
    No(String),
}

impl Level {
    /// Creates the document of the subtest whose item is `item`.
    pub(crate) fn below(item: usize) -> Self {
        Self { item: Some(item), ..Self::default() }
    }

    pub(crate) fn plan(&mut self, last: u64, reason: &str) {
        self.plans = self.plans.saturating_add(1);
        if self.plan.is_none() {
            self.plan = Some(last);
            reason.clone_into(&mut self.reason);
        }
    }

    /// Counts a test point, and returns its number.
    pub(crate) fn count(&mut self, number: Option<u64>) -> u64 {
        self.number = number.unwrap_or(self.number.saturating_add(1));
        self.points = self.points.saturating_add(1);
        self.largest = self.largest.max(self.number);
        if self.number <= MAX_NUMBER
            && let Ok(at) = usize::try_from(self.number)
        {
            if self.seen.len() <= at {
                self.seen.resize(at + 1, false);
            }
            if let Some(seen) = self.seen.get_mut(at) {
                if *seen {
                    self.repeated.get_or_insert(self.number);
                }
                *seen = true;
            }
        }
        self.number
    }

    /// Returns whether the document has neither a plan nor a test point.
    pub(crate) fn is_empty(&self) -> bool {
        self.plan.is_none() && self.points == 0
    }

    pub(crate) fn kept(&self) -> Kept {
        let Some(plan) = self.plan else {
            return Kept::No(format!("no plan after {}: the run was interrupted", counted(self.points, "test")));
        };
        if self.plans > 1 {
            return Kept::No(format!("there are {} plans", self.plans));
        }
        if plan == 0 && self.points == 0 {
            return Kept::NoTests(self.reason.clone());
        }
        if self.points != plan {
            return Kept::No(format!("planned {}, ran {}", counted(plan, "test"), counted(self.points, "test")));
        }
        if let Some(number) = self.repeated {
            return Kept::No(format!("test number {number} occurs more than once"));
        }
        if self.largest > plan {
            return Kept::No(format!("test number {} is outside the plan 1..{plan}", self.largest));
        }
        Kept::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(plan: Option<u64>, numbers: &[Option<u64>]) -> Kept {
        let mut level = Level::default();
        if let Some(last) = plan {
            level.plan(last, "why");
        }
        for number in numbers {
            level.count(*number);
        }
        level.kept()
    }

    #[test]
    fn a_plan_is_compared_with_the_numbers() {
        assert_eq!(kept(Some(3), &[Some(1), None, Some(3)]), Kept::Yes);
        assert_eq!(kept(Some(2), &[Some(2), Some(1)]), Kept::Yes);
        assert_eq!(kept(Some(0), &[]), Kept::NoTests("why".into()));
        for (plan, numbers, why) in [
            (None, &[Some(1)][..], "no plan after 1 test: the run was interrupted"),
            (Some(3), &[None], "planned 3 tests, ran 1 test"),
            (Some(1), &[None, None], "planned 1 test, ran 2 tests"),
            (Some(0), &[None], "planned 0 tests, ran 1 test"),
            (Some(2), &[Some(1), Some(1)], "test number 1 occurs more than once"),
            (Some(2), &[Some(1), Some(7)], "test number 7 is outside the plan 1..2"),
            (Some(1), &[Some(u64::MAX)], "test number 18446744073709551615 is outside the plan 1..1"),
        ] {
            assert_eq!(kept(plan, numbers), Kept::No(why.into()));
        }
        let mut twice = Level::default();
        twice.plan(1, "");
        twice.plan(1, "");
        twice.count(None);
        assert_eq!(twice.kept(), Kept::No("there are 2 plans".into()));
    }
}
