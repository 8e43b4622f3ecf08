//! The stock plugin definitions.

/// A definition inside this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockDefinition {
    /// The plugin's name.
    pub name: &'static str,
    /// The definition, in YAML.
    pub yaml: &'static str,
}

static DEFINITIONS: &[StockDefinition] =
    &[StockDefinition { name: "host-facts", yaml: include_str!("../../../plugins/definitions/host-facts.yaml") }];

/// All of them.
#[must_use]
pub fn definitions() -> &'static [StockDefinition] {
    DEFINITIONS
}

/// The one of that name.
#[must_use]
pub fn definition(name: &str) -> Option<StockDefinition> {
    DEFINITIONS.iter().find(|definition| definition.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbline_core::definition::Definition;

    #[test]
    fn every_definition_parses_without_a_warning_under_its_name() {
        for stock in definitions() {
            let parsed = Definition::parse(stock.yaml).unwrap();
            assert_eq!(parsed.definition.name.as_str(), stock.name);
            assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        }
        assert!(definition("nobody").is_none());
    }

    /// The definition for a cluster, which stands beside the one for a machine.
    #[test]
    fn the_facts_of_nodes_are_gathered_without_privileges() {
        let yaml = include_str!("../../../plugins/definitions/host-facts-daemonset.yaml");
        let parsed = Definition::parse(yaml).unwrap();
        assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
        assert_eq!(parsed.definition.name.as_str(), "host-facts");
        assert!(!yaml.contains("privileged:") && !yaml.contains("hostPID"));
    }
}
