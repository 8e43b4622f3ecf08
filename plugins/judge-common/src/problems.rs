//! Problems in the input of a judge.

use plumbline_sdk::text::shortened;

/// Maximum number of problems to report: as many as people fix at once.
const MAX_LISTED: usize = 20;

/// Maximum size in bytes of one problem.
const MAX_PROBLEM: usize = 400;

/// Problems, in the order in which they were found.
#[derive(Debug, Default)]
pub struct Problems {
    listed: Vec<String>,
    more: usize,
}

impl Problems {
    /// Adds the problem `what` at `place`.
    pub fn add(&mut self, place: &str, what: &str) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(shortened(&format!("{place}: {what}"), MAX_PROBLEM));
        } else {
            self.more += 1;
        }
    }

    /// Returns an error if there are problems.
    ///
    /// # Errors
    /// The problems, in one line.
    pub fn outcome(self) -> Result<(), String> {
        let Self { mut listed, more } = self;
        if more > 0 {
            listed.push(format!("{more} more problems"));
        }
        if listed.is_empty() { Ok(()) } else { Err(listed.join("; ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_problems_are_counted() {
        let mut problems = Problems::default();
        (1..=25).for_each(|at| problems.add(&format!("known.yaml, entry {at}"), "it is wrong"));
        let message = problems.outcome().unwrap_err();
        assert!(message.starts_with("known.yaml, entry 1: it is wrong; known.yaml, entry 2: "), "{message}");
        assert!(message.ends_with("entry 20: it is wrong; 5 more problems"), "{message}");
        assert_eq!(Problems::default().outcome(), Ok(()));
    }
}
