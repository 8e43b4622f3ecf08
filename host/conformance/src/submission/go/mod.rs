//! Input that Go's standard library accepts.
//!
//! The verifier is written in Go. Its rules on XML, URLs and mail addresses are those of
//! `encoding/xml`, `net/url` and `net/mail`, which differ from the standards.

mod address;
mod xml;

pub(super) use address::{is_mail_address, is_request_uri};
pub(super) use xml::{Decoder, Start, Token};
