//! The options of the module.

use serde_json::Value;

use crate::error::SpecError;
use crate::place::Place;

/// The option `ignore-taints`; false where there is none. Other options are not looked at: a definition's options serve all its modules.
pub(crate) fn ignore_taints(options: &Value) -> Result<bool, SpecError> {
    let options = Place::root("options", options);
    match options.optional_object()? {
        Some(options) => options.flag("ignore-taints"),
        None => Ok(false),
    }
}
