//! What the tests share.

use plumbline_module_known_failures::Lists;
use plumbline_sdk::testing::{Case, Judged};
use plumbline_sdk::{Item, Status};

/// A leaf.
pub(crate) fn leaf(name: &str, status: Status) -> Item {
    Item::new(1, name).status(status)
}

/// The judge `name` over a small run of the suite.
pub(crate) fn suite(name: &str) -> Case {
    Case::new().plugin("e2e").format(name).results(
        "global",
        [
            Item::new(0, "junit_01.xml").status(Status::Failed),
            leaf("[It] [sig-apps] Deployment should run", Status::Passed),
            leaf("[It] [sig-network] Services should serve UDP", Status::Failed),
            leaf("[It] [sig-storage] CSI should attach [Slow]", Status::Timeout),
            leaf("[It] [sig-storage] CSI should detach", Status::Failed),
            leaf("[It] [sig-windows] Pods should start", Status::Skipped),
            leaf("[It] [sig-node] NodeLease should renew [Conformance]", Status::Skipped),
        ],
    )
}

/// What it says, having come to the end.
pub(crate) fn judged(case: &Case) -> Judged {
    let judged = case.judge::<Lists>();
    assert_eq!(judged.outcome, Ok(()));
    judged
}
