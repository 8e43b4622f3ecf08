//! Code that modules share which compare nodes. A [`Tally`] collects the facts of all nodes, and
//! [`emit`] lists those that differ from the majority.
//!
//! | what | limit | beyond it |
//! |---|---|---|
//! | different facts that are compared | 4,000 | an item of unknown status counts the rest |
//! | different values: of one fact; bytes of all | 1,000; 32 MiB | the nodes are counted under other values |
//! | items below `drift` | 500 | the rest is counted |
//! | values, and names of nodes for each, in an item | 20 each | the rest is counted |

mod drift;
mod tally;

pub use drift::{DriftStatus, WARNING, emit, name};
pub use tally::Tally;
