//! Trees as one page of HTML that needs nothing else: no scripts, no fonts, no address is asked for anything.

mod page;
mod rulings;
mod section;
mod summary;

pub use page::{Page, PageFacts};
