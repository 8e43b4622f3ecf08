//! What is looked at before a run of the suite begins.

use plumbline_conformance::suite;
use plumbline_kubernetes::manifest::ManifestOptions;

use super::image;
use crate::args::SuiteArgs;
use crate::error::CliError;

/// Looks whether the suite can run as it is asked to: whether its tests exist, and, where `registries` may be asked, its image.
pub(crate) async fn look(_args: &SuiteArgs, options: &ManifestOptions, registries: bool) -> Result<(), CliError> {
    let plugins = options.plugins.iter().map(|plugin| &plugin.definition);
    let Some(definition) = plugins.into_iter().find(|definition| definition.name.as_str() == suite::PLUGIN) else {
        return Ok(());
    };
    let pulled = definition.spec.raw().get("imagePullPolicy").and_then(|policy| policy.as_str()) != Some("Never");
    match definition.spec.image() {
        Some(named) if registries && pulled => image::look(named).await,
        _ => Ok(()),
    }
}
