//! The images of a run: which there are, under which names they are behind a registry of one's own, how they get there, and the programs in
//! the suite's own image that say what it needs.

mod compare;
mod definition;
mod listing;
mod prefix;
mod program;
mod repo_config;
mod set;
mod transfer;

pub use compare::{State, compare};
pub use definition::{SUITE_FILE, images_of, is_suite, redirect};
pub use listing::{Listing, ListingError, listing};
pub use prefix::{Prefix, PrefixError, rewrite};
pub use program::{Program, ProgramError, SUITE_PROGRAM, local_platform, program};
pub use repo_config::{defaults, repo_config};
pub use set::{ImageSet, LeftOut, SetError, Wanted, suite_image};
pub use transfer::{Entry, Event, From, Job, Moved, Outcome, To, transfer};
