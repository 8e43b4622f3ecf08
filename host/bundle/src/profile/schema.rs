//! The JSON Schema of `profile.yaml`, for editors.

/// Returns the JSON Schema (draft 2020-12) of a profile, as formatted text (docs/profiles.md).
///
/// The reader accepts no document that the schema rejects, apart from limits of its own. It also
/// checks what refers to something else, such as a mode that sets an option.
pub fn profile_schema_text() -> &'static str {
    include_str!("../../../../docs/profile.schema.json")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use boon::{Compiler, SchemaIndex, Schemas};
    use serde_json::Value;

    use super::*;
    use crate::profile::{Profile, ProfileError};

    fn schema() -> Value {
        serde_json::from_str(profile_schema_text()).unwrap()
    }

    fn compiled() -> (Schemas, SchemaIndex) {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("profile", schema()).unwrap();
        let index = compiler.compile("profile", &mut schemas).unwrap();
        (schemas, index)
    }

    /// Returns the keys of the mapping that contains `before`, as the reader lists them.
    fn keys_of_reader(yaml: &str) -> BTreeSet<String> {
        let ProfileError::UnknownKey { meant, .. } = Profile::parse(yaml.as_bytes()).unwrap_err() else {
            panic!("{yaml}");
        };
        meant.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn reader_and_schema_know_the_same_keys() {
        let schema = schema();
        for (pointer, yaml) in [
            ("", "zzzzzzzzzzzz: 1"),
            ("/properties/local", "local: {zzzzzzzzzzzz: 1}"),
            ("/properties/listing", "listing: {zzzzzzzzzzzz: 1}"),
            ("/properties/options/items", "options: [{zzzzzzzzzzzz: 1}]"),
            ("/properties/modes/items", "modes: [{zzzzzzzzzzzz: 1}]"),
            ("/properties/selection", "selection: {zzzzzzzzzzzz: 1}"),
            ("/properties/submission/items", "submission: [{zzzzzzzzzzzz: 1}]"),
        ] {
            let mapping = schema.pointer(pointer).unwrap();
            let known: BTreeSet<String> = mapping["properties"].as_object().unwrap().keys().cloned().collect();
            assert_eq!(keys_of_reader(yaml), known, "{pointer}");
        }
    }

    /// Returns the profiles of the repository. Built-in ones may be absent.
    fn texts() -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let dirs = ["examples/profiles", "plugins/profiles"].into_iter().flat_map(|dir| fs::read_dir(root.join(dir)));
        let files = dirs.flatten().map(|entry| entry.unwrap().path().join("profile.yaml"));
        files.map(|file| fs::read_to_string(file).unwrap()).collect()
    }

    #[test]
    fn the_built_in_profiles_and_those_of_the_examples_name_the_schema_and_fit_it() {
        let (schemas, index) = compiled();
        let id = schema()["$id"].as_str().unwrap().to_owned();
        let texts = texts();
        assert!(texts.len() >= 5, "profiles of the examples");
        for text in &texts {
            assert_eq!(text.lines().next(), Some(format!("# yaml-language-server: $schema={id}").as_str()));
            Profile::parse(text.as_bytes()).unwrap();
            let value: Value = serde_saphyr::from_str(text).unwrap();
            assert_eq!(schemas.validate(&value, index).map_err(|error| error.to_string()), Ok(()));
        }
    }

    #[test]
    fn both_accept_the_same_documents() {
        let (schemas, index) = compiled();
        for (yaml, good) in crate::profile::read::tests::DOCUMENTS {
            let value: Value = serde_saphyr::from_str(yaml).unwrap();
            let by_schema = schemas.validate(&value, index);
            let by_reader = Profile::parse(yaml.as_bytes());
            assert_eq!(by_reader.is_ok(), *good, "{yaml}\n{by_reader:?}");
            assert_eq!(by_schema.is_ok(), *good, "{yaml}\n{:?}", by_schema.err().map(|error| error.to_string()));
        }
    }
}
