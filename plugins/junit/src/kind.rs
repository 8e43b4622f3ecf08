//! The roles of elements.

use crate::case::Part;

/// The role of an element in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `testsuites`: a container of suites, without an item.
    Suites,
    Suite,
    Case,
    /// An element of a test case whose text is kept.
    Part(Part),
    /// Such an element outside of any test case, for which a test case is created.
    LoosePart(Part),
    /// An element below one whose text is kept: its text is kept too.
    BelowPart,
    /// A failure below an element whose text is kept.
    FailureBelowPart,
    /// An element in the output of a test case, which may have any content.
    InOutput,
    Properties,
    Property,
    /// An unknown element in a suite, which may contain test cases.
    OtherInSuite,
    /// An unknown element in a test case, which may contain test cases.
    OtherInCase,
}

impl Kind {
    /// Returns the name of the element without a prefix; `None` if it can have any name.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Suites => Some("testsuites"),
            Self::Suite => Some("testsuite"),
            Self::Case => Some("testcase"),
            Self::Part(part) | Self::LoosePart(part) => Some(part.key()),
            Self::Properties => Some("properties"),
            Self::Property => Some("property"),
            Self::BelowPart | Self::FailureBelowPart | Self::InOutput | Self::OtherInSuite | Self::OtherInCase => None,
        }
    }
}
