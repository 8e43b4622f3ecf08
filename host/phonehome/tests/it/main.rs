//! The protocol over real connections: real certificates, real TLS on loopback, servers that behave and servers that do not, and the
//! two other implementations that matter, Go's and OpenSSL's.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests say what they expect")]

mod harness;

mod certificates;
mod curl;
mod hostile_server;
mod messages;
mod openssl;
mod other_end_in_go;
mod refusal;
mod retries;
mod streaming;
mod timeouts;
