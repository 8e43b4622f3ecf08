//! A Kubernetes API server in memory, on loopback, for tests.
#![forbid(unsafe_code)]
