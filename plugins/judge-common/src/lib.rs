//! What the built-in judges share: how names of tests are compared, patterns on them, files of YAML within bounds, and how what is wrong with
//! such files is told.

pub mod name;
pub mod pattern;
pub mod problems;
pub mod yaml;
