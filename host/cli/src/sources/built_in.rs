//! Built-in plugins: one name, a definition for one machine and one for a cluster.

use plumbline_bundle::built_in::{BuiltInDefinition, Place};

use crate::error::CliError;

/// The built-in plugins that there are at `place`, for messages.
pub(crate) fn built_in_names(place: Place) -> String {
    let there = plumbline_bundle::built_in::definitions().iter().filter(|built_in| built_in.yaml(place).is_some());
    there.map(|built_in| format!("`{}`", built_in.name)).collect::<Vec<_>>().join(", ")
}

/// The definition of a built-in plugin for `place`.
pub(crate) fn built_in_yaml(built_in: &BuiltInDefinition, place: Place) -> Result<&'static str, CliError> {
    let name = built_in.name;
    built_in.yaml(place).ok_or_else(|| match place {
        Place::Local => CliError::usage(format!("built-in plugin `{name}` exists for clusters only"))
            .hint(format!("run it in one: `plumbline run -p {name}`")),
        Place::Cluster => CliError::usage(format!("built-in plugin `{name}` exists for one machine only"))
            .hint(format!("run it there: `plumbline run --local -p {name}`")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_in_plugin_of_the_other_place_is_an_error_that_says_so() {
        let local = BuiltInDefinition { name: "disks", local: Some("yaml"), cluster: None };
        assert_eq!(built_in_yaml(&local, Place::Local).unwrap(), "yaml");
        let told = built_in_yaml(&local, Place::Cluster).unwrap_err().to_string();
        assert!(told.contains("one machine only") && told.contains("plumbline run --local -p disks"), "{told}");
        let cluster = BuiltInDefinition { local: None, cluster: Some("yaml"), ..local };
        let told = built_in_yaml(&cluster, Place::Local).unwrap_err().to_string();
        assert!(told.contains("clusters only") && told.contains("plumbline run -p disks"), "{told}");
    }
}
