//! Turns what is seen in the cluster into explicit results.

mod stub;

pub use stub::{Graces, Monitor, MonitorOptions, Watched};
