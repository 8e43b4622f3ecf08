//! The built-in plugin definitions.

/// A plugin inside this program: the same name for its execution on one machine and in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInDefinition {
    /// The plugin's name.
    pub name: &'static str,
    /// The definition for one machine, in YAML.
    pub local: Option<&'static str>,
    /// The definition for a cluster, in YAML.
    pub cluster: Option<&'static str>,
}

/// Where a plugin is to be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On this machine.
    Local,
    /// In a cluster.
    Cluster,
}

impl BuiltInDefinition {
    /// The definition for that place, in YAML; `None`: the plugin does not exist there.
    #[must_use]
    pub fn yaml(&self, place: Place) -> Option<&'static str> {
        match place {
            Place::Local => self.local,
            Place::Cluster => self.cluster,
        }
    }

    /// Where the plugin exists.
    pub fn places(self) -> impl Iterator<Item = Place> {
        [Place::Local, Place::Cluster].into_iter().filter(move |&place| self.yaml(place).is_some())
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

/// All of them.
#[must_use]
pub fn definitions() -> &'static [BuiltInDefinition] {
    DEFINITIONS
}

/// The one of that name.
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
                assert_eq!(process, place == Place::Local, "{} {place:?}", built_in.name);
                // Which version of this program runs is the run's to say; which one of the suite, the cluster's.
                let suite = (built_in.name == "e2e").then_some("registry.k8s.io/conformance:$SONOBUOY_K8S_VERSION");
                assert_eq!(parsed.definition.spec.image(), suite, "{}", built_in.name);
            }
        }
        assert!(definition("nobody").is_none());
    }

    /// The definition for a cluster, which stands beside the one for a machine.
    #[test]
    fn the_facts_of_nodes_are_gathered_without_privileges() {
        let yaml = include_str!("../../../../plugins/definitions/host-facts-daemonset.yaml");
        let parsed = Definition::parse(yaml).unwrap();
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        assert_eq!(parsed.definition.name.as_str(), "host-facts");
        assert!(!yaml.contains("privileged:") && !yaml.contains("hostPID"));
    }
}
