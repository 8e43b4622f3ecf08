//! What is wrong with what the judge was given.

/// Problems that are told: as many as a person mends at once.
const TOLD: usize = 20;

/// Bytes of one problem.
const MAX_PROBLEM: usize = 400;

/// Problems, in the order in which they were found.
#[derive(Debug, Default)]
pub struct Problems {
    told: Vec<String>,
    more: usize,
}

impl Problems {
    /// `what` is wrong at `place`.
    pub fn add(&mut self, place: &str, what: &str) {
        if self.told.len() < TOLD {
            self.told.push(cut(&format!("{place}: {what}"), MAX_PROBLEM));
        } else {
            self.more += 1;
        }
    }

    /// An error if there are any.
    ///
    /// # Errors
    /// With what is wrong, in one line.
    pub fn outcome(self) -> Result<(), String> {
        let Self { mut told, more } = self;
        if more > 0 {
            told.push(format!("{more} more problems"));
        }
        if told.is_empty() { Ok(()) } else { Err(told.join("; ")) }
    }
}

/// At most `max` bytes of `text`, with a mark where something is missing.
#[must_use]
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", text.get(..text.floor_char_boundary(max)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_problems_are_counted() {
        let mut problems = Problems::default();
        (1..=25).for_each(|at| problems.add(&format!("known.yaml, entry {at}"), "it is wrong"));
        let told = problems.outcome().unwrap_err();
        assert!(told.starts_with("known.yaml, entry 1: it is wrong; known.yaml, entry 2: "), "{told}");
        assert!(told.ends_with("entry 20: it is wrong; 5 more problems"), "{told}");
        assert_eq!(Problems::default().outcome(), Ok(()));
    }
}
