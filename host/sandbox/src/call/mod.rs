//! One call of a module: its inputs, limits and outputs.

pub(crate) mod clock;
pub(crate) mod emit;
pub(crate) mod files;
pub(crate) mod io;
pub(crate) mod json;
pub(crate) mod judgement;
pub(crate) mod limiter;
pub(crate) mod lines;
pub(crate) mod outbox;
pub(crate) mod reading;
pub(crate) mod sink;
pub(crate) mod state;
pub(crate) mod thread;
