//! Archives out of an aggregator's pod whose commands are the real ones, over connections that break.

mod bed;
mod faults;
mod pieces;
mod stream;
