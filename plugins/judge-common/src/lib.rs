//! Code that the built-in judges share: comparing names of tests, compiling patterns, reading YAML
//! files within limits, and reporting problems in such files.

pub mod name;
pub mod pattern;
pub mod problems;
pub mod yaml;
