//! The files for authors that are embedded in this program: the contract, the SDKs, the templates.

mod files;

pub use files::{Embedded, embedded, sdk, template, template_languages, wit};
