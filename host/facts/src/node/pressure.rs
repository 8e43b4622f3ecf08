//! The kernel's pressure stall information: how long work waited for processors, memory and disks.

use serde_json::{Map, Value, json};

use crate::gathering::Collector;
use crate::source::Source;

pub(super) fn gather(gathering: &mut Collector<'_>) {
    let source = gathering.source;
    let told: Map<String, Value> = ["cpu", "io", "memory"]
        .into_iter()
        .filter_map(|resource| Some((resource.to_owned(), pressure(source, resource)?)))
        .collect();
    // Kernels without pressure stall information do not have these files. That is not an error.
    if !told.is_empty() {
        gathering.own("pressure", told);
    }
}

/// Returns the percentage of time over 10, 60 and 300 seconds in which some or all work had to
/// wait.
fn pressure(source: &Source, resource: &str) -> Option<Value> {
    let text = source.value(&format!("/proc/pressure/{resource}")).ok()?;
    let mut told = Map::new();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let kind = fields.next().filter(|kind| ["some", "full"].contains(kind))?;
        let averages: Map<String, Value> = fields
            .filter_map(|field| field.split_once('='))
            .filter(|(name, _)| name.starts_with("avg"))
            .filter_map(|(name, value)| Some((name.to_owned(), json!(value.parse::<f64>().ok()?))))
            .collect();
        told.insert(kind.to_owned(), averages.into());
    }
    Some(told.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn averages_are_numbers() {
        let tree = Tree::new();
        tree.file(
            "/proc/pressure/io",
            "some avg10=1.50 avg60=0.00 avg300=0.02 total=99\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=9\n",
        );
        let source = Source::new(tree.root());
        assert_eq!(
            pressure(&source, "io"),
            Some(json!({
                "some": {"avg10": 1.5, "avg60": 0.0, "avg300": 0.02},
                "full": {"avg10": 0.5, "avg60": 0.0, "avg300": 0.0},
            }))
        );
        assert_eq!(pressure(&source, "cpu"), None);
    }
}
