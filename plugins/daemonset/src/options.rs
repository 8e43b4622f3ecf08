//! The options of the module.

use serde_json::Value;

use crate::error::SpecError;
use crate::place::FieldPath;

/// Returns the option `ignore-taints`, which is false by default. Unknown options are ignored,
/// because all modules of a definition share its options.
pub(crate) fn ignore_taints(options: &Value) -> Result<bool, SpecError> {
    let options = FieldPath::root("options", options);
    match options.optional_object()? {
        Some(options) => options.flag("ignore-taints"),
        None => Ok(false),
    }
}
