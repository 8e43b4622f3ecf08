//! One call of a module: its inputs, limits and outputs.

pub(crate) mod channel;
pub(crate) mod cluster;
pub(crate) mod emit;
pub(crate) mod input;
pub(crate) mod io;
pub(crate) mod json;
pub(crate) mod judgement;
pub(crate) mod limits;
pub(crate) mod lines;
pub(crate) mod network;
pub(crate) mod reports;
pub(crate) mod state;
pub(crate) mod wasi;
