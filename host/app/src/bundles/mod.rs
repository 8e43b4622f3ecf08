//! Bundles: push, pull, save, install and bake them, and try their modules on results.

mod bake;
pub mod describe;
mod install;
mod layout;
mod process;
mod pull;
mod push;

pub use bake::{BakeOptions, BakedImage, bake};
pub use install::{install, install_for_sonobuoy};
pub use layout::{ArtifactLayout, name_of, save};
pub use process::{ProcessOptions, Processed, process};
pub use pull::{PulledArtifact, pull};
pub use push::{PushedArtifact, push};
