//! Modes: named selections of tests.

use std::fmt;
use std::str::FromStr;

use plumbline_core::{closest, go_quote};

/// Default focus of the suite's image.
pub const DEFAULT_FOCUS: &str = r"\[Conformance\]";

/// Tests that [`Mode::ConformanceLite`] skips, one per line (data/lite/README.md).
const LITE: &str = include_str!("../../data/lite/skipped.txt");

/// Tags of tests that it skips too.
const LITE_MARKS: [&str; 3] = ["Serial", "Slow", "Disruptive"];

/// A named selection of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// One test.
    Quick,
    /// The conformance tests that do not disrupt other workloads in the cluster.
    #[default]
    NonDisruptiveConformance,
    /// All conformance tests, as required for certification.
    CertifiedConformance,
    /// The fast conformance tests, in parallel.
    ConformanceLite,
}

/// Error for an unknown mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode{}: the modes are {}", hint(.0), all())]
pub struct UnknownMode(String);

impl Mode {
    /// All modes, sorted by name.
    pub const ALL: [Self; 4] =
        [Self::CertifiedConformance, Self::ConformanceLite, Self::NonDisruptiveConformance, Self::Quick];

    /// Returns the name, which is the same as in Sonobuoy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::NonDisruptiveConformance => "non-disruptive-conformance",
            Self::CertifiedConformance => "certified-conformance",
            Self::ConformanceLite => "conformance-lite",
        }
    }

    /// Returns a description in one or two sentences.
    pub fn description(self) -> &'static str {
        match self {
            Self::Quick => {
                "One test, which creates and removes a pod. Shows within minutes whether a run works at all."
            }
            Self::NonDisruptiveConformance => {
                "The conformance tests without those that disturb other workloads, for example by evicting pods from nodes. For clusters that are in use."
            }
            Self::CertifiedConformance => {
                "All conformance tests, also those that disturb other workloads. Certification requires a run in this mode."
            }
            Self::ConformanceLite => {
                "The conformance tests that do not take long, in parallel: most problems in a fraction of the time. Not accepted for certification."
            }
        }
    }

    /// Returns the expression of the tests to run (`E2E_FOCUS`).
    pub fn focus(self) -> &'static str {
        match self {
            Self::Quick => "Pods should be submitted and removed",
            Self::NonDisruptiveConformance | Self::CertifiedConformance | Self::ConformanceLite => DEFAULT_FOCUS,
        }
    }

    /// Returns the expression of the tests to skip (`E2E_SKIP`), or `None` if no test is skipped.
    pub fn skip(self) -> Option<String> {
        match self {
            Self::Quick | Self::CertifiedConformance => None,
            // The second part matches a disruptive test that was not tagged in Kubernetes 1.16.
            Self::NonDisruptiveConformance => Some(r"\[Disruptive\]|NoExecuteTaintManager".to_owned()),
            Self::ConformanceLite => Some(lite_skip()),
        }
    }

    /// Returns whether tests run in parallel (`E2E_PARALLEL`).
    pub fn parallel(self) -> bool {
        self == Self::ConformanceLite
    }
}

fn lite_skip() -> String {
    let marks = LITE_MARKS.iter().map(|&mark| mark.to_owned());
    // A double quote would end the argument in the shell scripts of old images. Match any character
    // instead.
    let names = LITE.lines().map(|name| go_quote(name).replace('"', "."));
    marks.chain(names).collect::<Vec<_>>().join("|")
}

fn all() -> String {
    Mode::ALL.map(|mode| format!("`{mode}`")).join(", ")
}

fn hint(typed: &str) -> String {
    let near = closest(typed, Mode::ALL.map(Mode::name));
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_choose_what_users_of_the_field_know() {
        let table: Vec<_> = Mode::ALL.iter().map(|mode| (mode.name(), mode.focus(), mode.parallel())).collect();
        assert_eq!(
            table,
            [
                ("certified-conformance", r"\[Conformance\]", false),
                ("conformance-lite", r"\[Conformance\]", true),
                ("non-disruptive-conformance", r"\[Conformance\]", false),
                ("quick", "Pods should be submitted and removed", false),
            ]
        );
        assert_eq!(Mode::default(), Mode::NonDisruptiveConformance);
        assert_eq!(Mode::default().skip().unwrap(), r"\[Disruptive\]|NoExecuteTaintManager");
        assert_eq!((Mode::Quick.skip(), Mode::CertifiedConformance.skip()), (None, None));
    }

    #[test]
    fn lite_leaves_out_three_marks_and_fifty_six_tests() {
        let skip = Mode::ConformanceLite.skip().unwrap();
        // No name contains a bar, so each bar separates two alternatives.
        let parts: Vec<&str> = skip.split('|').collect();
        assert_eq!(parts.len(), 59);
        assert_eq!(parts[..3], ["Serial", "Slow", "Disruptive"]);
        assert_eq!(
            parts[3],
            r"\[sig-apps\] StatefulSet Basic StatefulSet functionality \[StatefulSetBasic\] should have a working scale subresource \[Conformance\]"
        );
        let quoted = r"\[sig-node\] Probing container should \*not\* be restarted with a exec .cat /tmp/health. liveness probe \[NodeConformance\] \[Conformance\]";
        assert!(parts.contains(&quoted) && !skip.contains('"'));
        assert!(parts[58].starts_with(r"\[sig-apps\] StatefulSet \[k8s\.io\] Basic"), "{}", parts[58]);
        // Each alternative is a valid expression and matches its own name.
        let all = regex::Regex::new(&skip).unwrap();
        assert!(LITE.lines().all(|name| all.is_match(name)));
    }

    #[test]
    fn an_error_for_a_mistyped_mode_suggests_the_right_one() {
        assert_eq!("quick".parse(), Ok(Mode::Quick));
        let message = "conformance-light".parse::<Mode>().unwrap_err().to_string();
        assert!(message.contains("did you mean `conformance-lite`?") && message.contains("`quick`"), "{message}");
    }
}
