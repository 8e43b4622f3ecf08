//! Checks, before anything is created in a cluster, that the modules that plugins name exist.

use std::path::Path;
use std::sync::Arc;

use plumbline_aggregator::{ModuleError, Modules};
use plumbline_core::Config;
use plumbline_core::definition::Definition;

use crate::error::CliError;
use crate::limits::Limits;
use crate::sources::Found;
use crate::stock;

/// Fails for a plugin whose definition names a module that is neither built in nor in its bundle. Plugins whose modules the
/// aggregator finds elsewhere, as `config` says, are not checked.
pub(crate) fn check_modules(found: &[Found], config: &Config) -> Result<(), CliError> {
    let (sandbox, built_in) = stock::sandbox(&Limits::default())?;
    // No module runs here, so none is compiled.
    let modules = Modules::compiling_with(sandbox, built_in, Arc::new(|_| {}));
    for one in found {
        let definition = &one.source.definition;
        if config.plumbline.bundles.iter().any(|bundle| bundle.plugin == definition.name.as_str()) {
            continue;
        }
        all_known(&modules, one.source.bundle.as_deref(), definition).map_err(|error| {
            let told = CliError::usage(format!("plugin `{}` cannot run", definition.name)).because(&error);
            error.hint().into_iter().fold(told, CliError::hint)
        })?;
    }
    Ok(())
}

fn all_known(modules: &Modules, bundle: Option<&Path>, definition: &Definition) -> Result<(), ModuleError> {
    modules.post_processor(bundle, definition.result_format.as_deref().unwrap_or_default())?;
    modules.expectations(bundle, definition.expectations_module())?;
    if let Some(name) = &definition.plumbline.summarizer {
        modules.summarizer(bundle, name)?;
    }
    for entry in &definition.plumbline.verdict {
        modules.judge(bundle, &entry.judge)?;
    }
    Ok(())
}
