//! The Kubernetes conformance suite: its modes and what they set, the names of its tests and how they are selected, its images, what of its results is
//! submitted, and the chains of judges that its users ask for.
//!
//! * [`suite`]: modes and settings become a definition; versions.
//! * [`lists`]: names of tests by version, and selections by regular expressions as Go writes them.
//! * [`images`]: which images a run needs, under which names they are behind a registry of one's own, and programs out of the suite's image.
//! * [`submission`]: which tests are required, the four files, and the rules of their verifier.
//! * [`chain`]: what options of a command line become in the chain `verdict` of a definition.
//!
//! Nothing here knows of clusters.
#![forbid(unsafe_code)]

pub mod chain;
mod data;
pub mod images;
pub mod lists;
pub mod submission;
pub mod suite;
