//! Medians and percentiles.

/// Returns the median; 0 without values.
pub(crate) fn median(values: &[f64]) -> f64 {
    percentile(values, 50.0)
}

/// Returns the given percentile, by the nearest rank; 0 without values.
pub(crate) fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * (sorted.len() as f64 - 1.0)).round();
    sorted.get(rank.max(0.0) as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_values() {
        let values: Vec<f64> = (1..=101).rev().map(f64::from).collect();
        assert_eq!(median(&values), 51.0);
        assert_eq!(percentile(&values, 99.0), 100.0);
        assert_eq!(median(&[]), 0.0);
    }
}
