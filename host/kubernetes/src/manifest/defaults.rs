//! The default pod spec, in the form that a definition can contain.

use plumbline_core::Driver;
use serde_json::{Value, json};

use crate::driver;

/// Returns [`driver::default_pod_spec`] with an empty list of containers, which a pod spec in a
/// definition needs.
#[must_use]
pub fn default_pod_spec(driver: Driver) -> Value {
    let mut spec = driver::default_pod_spec(driver);
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("containers".to_owned(), json!([]));
    }
    spec
}
