//! The arguments of `e2e`, and the rounds that follow from them.

use std::ffi::OsString;
use std::fmt;

use crate::error::Error;

/// The modules whose tests need three nodes, or the images of suites.
const OF_THREE_NODES: [&str; 4] = ["gateway::", "nodes::", "pages::", "suite::"];

/// The clusters to use, and the tests to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The number of nodes. Without it, there is a round with two nodes, and one with three for the
    /// tests that need them.
    nodes: Option<u32>,
    /// Whether to keep a cluster that was started for the tests.
    pub(crate) keep: bool,
    /// Whether the image contains the program from the build of the tests instead of a release
    /// build. That saves a compilation.
    pub(crate) tests_binary: bool,
    /// Whether to run the tests with programs of others that take minutes to build.
    pub(crate) interop: bool,
    /// Whether to run the tests that take minutes.
    pub(crate) long: bool,
    /// The versions of Kubernetes. The default is the newest.
    pub(crate) kubernetes: Kubernetes,
    /// Arguments for the test binary.
    pub(crate) args: Vec<OsString>,
}

/// Versions of Kubernetes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Kubernetes {
    /// The newest version that the scripts list.
    #[default]
    Newest,
    /// This version.
    Version(String),
    /// All versions that the scripts list, one after the other.
    All,
}

impl Kubernetes {
    fn parse(value: Option<&str>) -> Result<Self, Error> {
        let is_version = |text: &str| {
            let parts: Vec<&str> = text.split('.').collect();
            parts.len() == 3
                && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        match value {
            Some("all") => Ok(Self::All),
            Some(version) if is_version(version) => Ok(Self::Version(version.to_owned())),
            other => Err(Error::Usage(format!(
                "`--kubernetes` is a version such as 1.36.3, or `all`, not `{}`",
                other.unwrap_or_default()
            ))),
        }
    }
}

/// One cluster, and the tests to run against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Round {
    /// The number of nodes.
    pub(crate) nodes: u32,
    tests: Tests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tests {
    All,
    OfTwoNodes,
    OfThreeNodes,
}

impl Round {
    /// All tests, on any cluster.
    pub(crate) const ALL: Self = Self { nodes: 1, tests: Tests::All };

    /// Returns arguments for the test binary that select the tests.
    pub(crate) fn filter(&self) -> Vec<&'static str> {
        match self.tests {
            Tests::All => Vec::new(),
            Tests::OfTwoNodes => OF_THREE_NODES.iter().flat_map(|module| ["--skip", module]).collect(),
            Tests::OfThreeNodes => OF_THREE_NODES.to_vec(),
        }
    }

    /// Returns the starts of the names of its tests that take minutes. They run only with `--long`, or
    /// if arguments select them.
    pub(crate) const fn long(&self) -> &'static [&'static str] {
        match self.tests {
            Tests::All => &["long::", "suite::faults"],
            Tests::OfTwoNodes => &["long::"],
            Tests::OfThreeNodes => &["suite::faults"],
        }
    }

    /// Returns whether the round runs the conformance suite, which needs the images of the suite.
    pub(crate) const fn runs_the_suite(&self) -> bool {
        !matches!(self.tests, Tests::OfTwoNodes)
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tests = match self.tests {
            Tests::All => "all tests",
            Tests::OfTwoNodes => "tests that need at most two nodes",
            Tests::OfThreeNodes => "tests that need three nodes",
        };
        write!(f, "{tests}, nodes: {}", self.nodes)
    }
}

impl Options {
    /// Parses `[--nodes 1|2|3] [--kubernetes VERSION|all] [--keep] [--tests-binary] [--interop] [--long]
    /// [-- ARGS…]`.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let mut options = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--") => {
                    options.args = args.collect();
                    break;
                }
                Some("--keep") => options.keep = true,
                Some("--tests-binary") => options.tests_binary = true,
                Some("--interop") => options.interop = true,
                Some("--long") => options.long = true,
                Some("--nodes") => options.nodes = Some(nodes(args.next().as_ref().and_then(|value| value.to_str()))?),
                Some(text) if text.starts_with("--nodes=") => {
                    options.nodes = Some(nodes(text.strip_prefix("--nodes="))?)
                }
                Some("--kubernetes") => {
                    options.kubernetes = Kubernetes::parse(args.next().as_ref().and_then(|value| value.to_str()))?
                }
                Some(text) if text.starts_with("--kubernetes=") => {
                    options.kubernetes = Kubernetes::parse(text.strip_prefix("--kubernetes="))?
                }
                _ => return Err(Error::Usage(format!("`e2e` does not take the argument `{}`", arg.display()))),
            }
        }
        if options.keep && options.kubernetes == Kubernetes::All {
            return Err(Error::Usage("`--keep` needs one version: only one cluster can stay".to_owned()));
        }
        if options.keep && options.nodes.is_none() {
            return Err(Error::Usage("`--keep` needs `--nodes`: only one cluster can stay".to_owned()));
        }
        Ok(options)
    }

    /// Returns the rounds, in order.
    pub(crate) fn rounds(&self) -> Vec<Round> {
        match self.nodes {
            Some(nodes @ ..3) => vec![Round { nodes, tests: Tests::OfTwoNodes }],
            Some(nodes) => vec![Round { nodes, tests: Tests::All }],
            None => vec![Round { nodes: 2, tests: Tests::OfTwoNodes }, Round { nodes: 3, tests: Tests::OfThreeNodes }],
        }
    }
}

fn nodes(value: Option<&str>) -> Result<u32, Error> {
    let number = value.and_then(|value| value.parse().ok()).filter(|number| (1..=3).contains(number));
    number.ok_or_else(|| Error::Usage(format!("`--nodes` is 1, 2 or 3, not `{}`", value.unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Error> {
        Options::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn two_nodes_first_and_three_only_for_what_needs_them() {
        let rounds = |line: &str| parse(line).unwrap().rounds().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            rounds(""),
            ["tests that need at most two nodes, nodes: 2", "tests that need three nodes, nodes: 3"]
        );
        assert_eq!(rounds("--nodes 1"), ["tests that need at most two nodes, nodes: 1"]);
        assert_eq!(rounds("--nodes=3 --keep"), ["all tests, nodes: 3"]);
    }

    #[test]
    fn each_round_knows_its_tests_that_take_minutes() {
        let long =
            |line: &str| parse(line).unwrap().rounds().iter().map(|round| round.long().join(" ")).collect::<Vec<_>>();
        assert_eq!(long(""), ["long::", "suite::faults"]);
        assert_eq!(long("--nodes 1"), ["long::"]);
        assert_eq!(long("--nodes 3"), ["long:: suite::faults"]);
        assert_eq!(Round::ALL.long(), ["long::", "suite::faults"]);
    }

    #[test]
    fn a_version_is_chosen_or_all_of_them() {
        assert_eq!(parse("").unwrap().kubernetes, Kubernetes::Newest);
        assert_eq!(parse("--kubernetes 1.36.3").unwrap().kubernetes, Kubernetes::Version("1.36.3".to_owned()));
        assert_eq!(parse("--kubernetes=all").unwrap().kubernetes, Kubernetes::All);
    }

    #[test]
    fn the_rest_is_for_the_tests() {
        assert_eq!(parse("--nodes 1 -- --nocapture run").unwrap().args, ["--nocapture", "run"]);
        assert!(parse("--tests-binary").unwrap().tests_binary && !parse("-- --tests-binary").unwrap().tests_binary);
        assert!(parse("--interop").unwrap().interop && !parse("").unwrap().interop);
        assert!(parse("--long").unwrap().long && !parse("").unwrap().long);
    }

    #[test]
    fn unknown_arguments_are_rejected_by_name() {
        for (line, expected) in [
            ("--nodes 4", "`4`"),
            ("--nodes", "`--nodes`"),
            ("now", "`now`"),
            ("--kubernetes 1.36", "`1.36`"),
            ("--keep", "`--keep`"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
