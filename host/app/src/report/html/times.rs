//! Which tests took longest.

use plumbline_core::{Item, Status};

use crate::report::text::name;

/// The most leaves in the table of slow ones.
const MAX_SLOWEST: usize = 20;

/// A slow leaf.
pub(super) struct Slow {
    pub(super) seconds: f64,
    /// The number of its row.
    pub(super) item: u32,
    pub(super) label: String,
    pub(super) plugin: String,
    pub(super) status: Status,
}

/// The slowest leaves, slowest first.
#[derive(Default)]
pub(super) struct Slowest(pub(super) Vec<Slow>);

impl Slowest {
    pub(super) fn add(
        &mut self,
        seconds: Option<f64>,
        number: u32,
        label: &str,
        node: Option<&str>,
        item: &Item,
        plugin: &str,
    ) {
        let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) else { return };
        let at = self.0.partition_point(|slow| slow.seconds >= seconds);
        if at >= MAX_SLOWEST {
            return;
        }
        let label = node.map_or_else(|| label.to_owned(), |node| format!("{label} on {}", name(node)));
        let (plugin, status) = (plugin.to_owned(), item.status.clone());
        self.0.insert(at, Slow { seconds, item: number, label, plugin, status });
        self.0.truncate(MAX_SLOWEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_are_kept_in_order() {
        let mut slowest = Slowest::default();
        for n in 0..50_u32 {
            let seconds = f64::from(n * 7 % 50);
            slowest.add(Some(seconds), n, "t", Some("n1"), &Item::default(), "p");
        }
        slowest.add(None, 99, "t", None, &Item::default(), "p");
        let seconds: Vec<f64> = slowest.0.iter().map(|slow| slow.seconds).collect();
        assert_eq!(seconds, (30..50).rev().map(f64::from).collect::<Vec<_>>());
        assert_eq!(slowest.0[0].label, "t on n1");
    }
}
