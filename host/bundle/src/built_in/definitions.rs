//! The built-in plugin definitions.

/// A plugin that is part of this program. It has the same name on one machine and in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInDefinition {
    /// Name of the plugin.
    pub name: &'static str,
    /// Definition for one machine, in YAML. `None` if the plugin does not run there.
    pub local: Option<&'static str>,
    /// Definition for a cluster, in YAML. `None` if the plugin does not run there.
    pub cluster: Option<&'static str>,
}

/// Where a plugin runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    /// On this machine.
    Local,
    /// In a cluster.
    Cluster,
}

impl BuiltInDefinition {
    /// Returns the definition for `place`, in YAML, or `None` if the plugin does not run there.
    #[must_use]
    pub fn yaml(&self, place: Environment) -> Option<&'static str> {
        match place {
            Environment::Local => self.local,
            Environment::Cluster => self.cluster,
        }
    }

    /// Returns the places where the plugin can run.
    pub fn places(self) -> impl Iterator<Item = Environment> {
        [Environment::Local, Environment::Cluster].into_iter().filter(move |&place| self.yaml(place).is_some())
    }
}

static DEFINITIONS: &[BuiltInDefinition] = &[
    BuiltInDefinition {
        name: "e2e",
        local: None,
        cluster: Some(include_str!("../../../../plugins/definitions/e2e.yaml")),
    },
    BuiltInDefinition {
        name: "host-facts",
        local: Some(include_str!("../../../../plugins/definitions/host-facts.yaml")),
        cluster: Some(include_str!("../../../../plugins/definitions/host-facts-daemonset.yaml")),
    },
    BuiltInDefinition {
        name: "systemd-logs",
        local: Some(include_str!("../../../../plugins/definitions/systemd-logs.yaml")),
        cluster: Some(include_str!("../../../../plugins/definitions/systemd-logs-daemonset.yaml")),
    },
];

/// Returns all built-in definitions.
#[must_use]
pub fn definitions() -> &'static [BuiltInDefinition] {
    DEFINITIONS
}

/// Returns the built-in definition named `name`.
#[must_use]
pub fn definition(name: &str) -> Option<BuiltInDefinition> {
    DEFINITIONS.iter().find(|definition| definition.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbline_core::Driver;
    use plumbline_core::definition::Definition;

    #[test]
    fn every_definition_parses_without_a_warning_under_its_name_and_fits_its_place() {
        for built_in in definitions() {
            assert!(built_in.places().next().is_some(), "{}", built_in.name);
            for place in built_in.places() {
                let parsed = Definition::parse(built_in.yaml(place).unwrap()).unwrap();
                assert_eq!(parsed.definition.name.as_str(), built_in.name);
                assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
                let process = parsed.definition.driver == Driver::Process;
                assert_eq!(process, place == Environment::Local, "{} {place:?}", built_in.name);
                // The run chooses the version of this program, and the cluster chooses the version
                // of the suite.
                let suite = (built_in.name == "e2e").then_some("registry.k8s.io/conformance:$SONOBUOY_K8S_VERSION");
                assert_eq!(parsed.definition.spec.image(), suite, "{}", built_in.name);
            }
        }
        assert!(definition("nobody").is_none());
    }

    /// The definition for a cluster, which exists in addition to the one for a machine.
    #[test]
    fn the_facts_of_nodes_are_gathered_without_privileges() {
        let yaml = include_str!("../../../../plugins/definitions/host-facts-daemonset.yaml");
        let parsed = Definition::parse(yaml).unwrap();
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        assert_eq!(parsed.definition.name.as_str(), "host-facts");
        assert!(!yaml.contains("privileged:") && !yaml.contains("hostPID"));
    }
}
