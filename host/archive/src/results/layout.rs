//! The layouts of archives over time, and their detection.

/// The layout of an archive, named after the first version of the tool that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// `config.json` at the root, `serverversion/serverversion.json`, `resources/non-ns`.
    V08,
    /// `meta/config.json`. Results of a plugin that ran once are directly in
    /// `plugins/PLUGIN/results`. Those of a plugin that ran on every node are single files there,
    /// named after the node.
    V09,
    /// The same layout as [`Layout::V09`].
    V010,
    /// The current layout, see [`crate::layout`].
    V015,
}

impl Layout {
    /// Returns the layout that `version` of the tool wrote. A version that cannot be parsed is
    /// assumed to be new.
    pub(super) fn of_version(version: &str) -> Self {
        let mut numbers = version.trim_start_matches('v').split(['.', '-', '+']).map(str::parse::<u64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(0)), Some(Ok(minor))) => match minor {
                0..=8 => Self::V08,
                9 => Self::V09,
                10..=14 => Self::V010,
                _ => Self::V015,
            },
            _ => Self::V015,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_layouts() {
        for (version, want) in [
            ("v0.8.1", Layout::V08),
            ("v0.9.0-alpha.2", Layout::V09),
            ("v0.10.0", Layout::V010),
            ("v0.11.3", Layout::V010),
            ("v0.14.3", Layout::V010),
            ("v0.15.0", Layout::V015),
            ("v0.57.5", Layout::V015),
            ("v1.0.0", Layout::V015),
            ("", Layout::V015),
            ("master", Layout::V015),
        ] {
            assert_eq!(Layout::of_version(version), want, "{version}");
        }
    }
}
