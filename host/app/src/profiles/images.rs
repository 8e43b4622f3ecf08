//! The images of a suite: its own, as options set it, and those that its tests use.

use plumbline_bundle::profile::{Listing, MAX_TESTS, Place};
use plumbline_core::Definition;

use super::apply::{ProfileRun, applied, choose};
use super::find::profile_of;
use super::listing::{lenient, set_version};
use super::lists::read_list;
use crate::error::AppError;
use crate::sources::ResolvedPlugin;

/// The images of a suite.
pub(crate) struct SuiteImages {
    /// The definition with the image that options set.
    pub(crate) definition: Definition,
    /// The images that the tests use.
    pub(crate) others: Vec<String>,
    /// The program in the image of the suite that lists more images.
    pub(crate) listing: Option<Listing>,
}

/// The images of the suite of `plugin`, with these values of options. `None` if it has no profile.
pub(crate) fn images(plugin: &ResolvedPlugin, set: &[String]) -> Result<Option<SuiteImages>, AppError> {
    let Some((bundle, profile)) = profile_of(plugin)? else { return Ok(None) };
    // Other required options do not decide which images there are.
    let profile = lenient(&profile);
    let mut settings = choose(&profile, &ProfileRun { set: set.to_vec(), ..ProfileRun::default() })?;
    set_version(&bundle, &profile, &mut settings, profile.images.as_deref())?;
    let others = match &profile.images {
        Some(file) => read_list(&bundle, &settings, file, MAX_TESTS)?,
        None => Vec::new(),
    };
    let definition = applied(&settings, plugin.source.definition.as_ref(), Place::Cluster, &[])?.definition;
    Ok(Some(SuiteImages { definition, others, listing: profile.listing.clone() }))
}
