//! The layouts that archives have had, and how to tell them.

/// How an archive is laid out. Named after the version of the tool that began with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// `config.json` at the root, `serverversion/serverversion.json`, `resources/non-ns`.
    V08,
    /// `meta/config.json`; results of a plugin that ran once lie directly below `plugins/PLUGIN/results`, those of one that ran on
    /// every node are single files there, named after the node.
    V09,
    /// As [`Layout::V09`].
    V010,
    /// Today's: see [`crate::layout`].
    V015,
}

impl Layout {
    /// The layout that version `version` of the tool wrote. A version that cannot be read is taken for a new one.
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
