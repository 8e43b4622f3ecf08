//! The images of a run: which ones it needs, their names in a private registry, and copies to that
//! registry. Also programs from the suite's image, which tell what the suite needs.

mod program;
mod redirect;
mod set;
mod transfer;

pub use program::{ListingError, Program, ProgramError, listing, local_platform, program};
pub use redirect::{
    Prefix, PrefixError, SUITE_FILE, defaults, images_of, is_suite, is_suite_image, redirect, repo_config, rewrite,
};
pub use set::{ImageSet, LeftOut, SetError, Wanted};
pub use transfer::{Event, Job, Outcome, Source, State, Target, TransferProgress, TransferResult, compare, transfer};
