//! The pod around a plugin whose definition has none, as a definition could have it.

use plumbline_core::Driver;
use serde_json::{Value, json};

use crate::driver;

/// The pod of [`driver::default_pod_spec`], with the empty list of containers that a pod spec in a definition needs.
#[must_use]
pub fn default_pod_spec(driver: Driver) -> Value {
    let mut spec = driver::default_pod_spec(driver);
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("containers".to_owned(), json!([]));
    }
    spec
}
