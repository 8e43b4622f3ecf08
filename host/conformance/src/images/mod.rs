//! The images of a run: which ones it needs, their names in a private registry, and copies to that
//! registry. Also programs from the suite's image, which tell what the suite needs.

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
pub use transfer::{Event, Job, Outcome, Source, Target, TransferProgress, TransferResult, transfer};
