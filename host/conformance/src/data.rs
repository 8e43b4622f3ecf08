//! Embedded data about the suite, by Kubernetes version. `cargo xtask suite-data` generates it.

/// Embeds the lists in a data directory, oldest version first.
macro_rules! lists {
    ($directory:literal: $($version:literal)*) => {
        &[$(($version, include_bytes!(concat!("../data/", $directory, "/", $version, ".gz")))),*]
    };
}

/// All tests. A version is missing if its suite could not be built.
pub(crate) const TESTS: &[(&str, &[u8])] =
    lists!("e2e-lists": "v1.29.15" "v1.30.14" "v1.33.13" "v1.34.4" "v1.35.4" "v1.36.3" "v1.37.2");

/// Tests that a submission must have passed.
pub(crate) const REQUIRED: &[(&str, &[u8])] =
    lists!("required": "v1.29.15" "v1.30.14" "v1.31.14" "v1.32.13" "v1.33.13" "v1.34.4" "v1.35.4" "v1.36.3" "v1.37.2");

#[cfg(test)]
mod tests {
    use super::{REQUIRED, TESTS};

    /// Limit of all lists in the program, in bytes.
    const LIMIT: usize = 1 << 20;

    #[test]
    fn the_lists_add_less_than_one_mebibyte_to_the_program() {
        let size: usize = TESTS.iter().chain(REQUIRED).map(|(_, list)| list.len()).sum();
        assert!(size < LIMIT, "{size} bytes");
    }
}
