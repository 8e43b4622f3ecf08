//! A judge for conformance reports of the Gateway API.
//!
//! The Gateway API publishes a report only if it meets the rules in
//! `conformance/reports/README.md` of its repository. This judge reads the report of a run, and
//! checks these rules. It also compares the report with the results of the tests. The suite counts
//! some tests as passed that failed or did not run.
//!
//! | check | rule |
//! |---|---|
//! | `GWAPI-REPORT` | there is a report, and it is a `ConformanceReport` of `gateway.networking.k8s.io/v1` without unknown or missing fields |
//! | `GWAPI-IMPLEMENTATION` | each field that describes the implementation has a meaningful value, and the version is not a branch |
//! | `GWAPI-API` | version and channel of the Gateway API are known, and the date is one |
//! | `GWAPI-MODE` | the mode can be a part of the name of the file |
//! | `GWAPI-TIMEOUTS` | no timeout is longer than a conformant implementation needs |
//! | `GWAPI-PROFILES` | the report has exactly the selected profiles |
//! | `GWAPI-RESULT-PROFILE` | the results of the profile are `success`, or `partial` if that is accepted |
//! | `GWAPI-TESTS-PROFILE` | the report of the profile agrees with the results of the tests |
//!
//! Its evidence is the report, and the file `selection.json` of the program that runs the suite. The
//! file `accept` in its data has the word `success` or `partial`.
#![forbid(unsafe_code)]

mod agreement;
mod fields;
mod judge;
mod report;
mod results;
mod selection;

pub use judge::GatewayReport;

plumbline_sdk::module! {
    name: "gateway-report",
    formats: ["gateway-report"],
    default_files: [],
    schema: { "type": "object", "additionalProperties": false },
    judge: GatewayReport,
}
