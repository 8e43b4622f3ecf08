//! Tests of the monitor.

mod bed;
mod captures;
mod hello;
mod timeline;
mod troubles;
mod watches;
