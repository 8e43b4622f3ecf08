//! The certificates of a run (docs/protocol.md, "Certificates").

mod issued;
mod run_ca;
mod sec1;

pub use issued::{CaError, Issued};
pub use run_ca::{CLOCK_SKEW, RunCa, VALIDITY_MARGIN, VALIDITY_WITHOUT_TIMEOUT};
