//! Trees as one HTML page without scripts, fonts and other resources.

mod page;
mod rulings;
mod section;
mod summary;

pub use page::{Page, PageFacts};
