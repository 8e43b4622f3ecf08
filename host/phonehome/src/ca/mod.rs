//! The certificates of a run (docs/protocol.md, "Certificates").

mod error;
mod issued;
mod run_ca;
mod sec1;

pub use error::CaError;
pub use issued::Issued;
pub use run_ca::{CLOCK_SKEW, RunCa, VALIDITY_MARGIN, VALIDITY_WITHOUT_TIMEOUT};
