//! Retrieval of archives from an aggregator's pod with the real commands, over connections that
//! drop.

mod bed;
mod faults;
mod pieces;
mod stream;
