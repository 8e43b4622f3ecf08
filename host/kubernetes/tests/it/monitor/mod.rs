//! Tests of the monitor.

mod bed;
mod captures;
mod hello;
mod troubles;
mod watches;
