//! Tests of the protocol on real connections, with real certificates and TLS on loopback. The
//! servers are correct or faulty, and the other implementations are those of Go and OpenSSL.

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
