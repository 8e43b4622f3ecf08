//! Shared helpers of the tests.

use plumbline_module_known_failures::Lists;
use plumbline_sdk::testing::{Case, Judged};
use plumbline_sdk::{Item, Status};

/// Returns a leaf.
pub(crate) fn leaf(name: &str, status: Status) -> Item {
    Item::new(1, name).status(status)
}

/// Returns a case for the judge `name`, with a small run of the suite.
pub(crate) fn suite(name: &str) -> Case {
    Case::new().plugin("e2e").format(name).results(
        "global",
        [
            Item::new(0, "junit_01.xml").status(Status::Failed).meta("type", "file"),
            leaf("[It] [sig-apps] Deployment should run", Status::Passed),
            leaf("[It] [sig-network] Services should serve UDP", Status::Failed),
            leaf("[It] [sig-storage] CSI should attach [Slow]", Status::Timeout),
            leaf("[It] [sig-storage] CSI should detach", Status::Failed),
            leaf("[It] [sig-windows] Pods should start", Status::Skipped),
            leaf("[It] [sig-node] NodeLease should renew [Conformance]", Status::Skipped),
        ],
    )
}

/// Runs the judge, which must not fail.
pub(crate) fn judged(case: &Case) -> Judged {
    let judged = case.judge::<Lists>();
    assert_eq!(judged.outcome, Ok(()));
    judged
}
