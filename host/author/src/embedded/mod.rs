//! What is inside this program for authors: the contract, the SDKs, the templates.

mod files;

pub use files::{Embedded, embedded, sdk, template, template_languages, wit};
