use serde_json::{Value, json};

use super::*;
use crate::Definition;

fn read(progress: Value) -> Result<Definition, DefinitionError> {
    let document = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "p"}, "spec": {}, "plumbline": {"progress": progress}});
    Definition::from_json(document).map(|parsed| parsed.definition)
}

#[test]
fn the_key_is_read_and_written() {
    for progress in [
        json!({"file": "e2e.log", "total": "Will run (\\d+) of", "completed": "^•", "failed": "^• \\[FAILED\\]"}),
        json!({"file": "logs/a.txt", "completed": "ok"}),
        json!({"file": "e2e.log", "format": "ginkgo"}),
    ] {
        let definition = read(progress.clone()).unwrap();
        assert_eq!(definition.to_json()["plumbline"]["progress"], progress);
        assert_eq!(Definition::from_json(definition.to_json()).unwrap().definition, definition);
        // The worker must read back what it is given.
        let given = definition.plumbline.progress.unwrap();
        assert_eq!(serde_json::from_str::<LogProgress>(&serde_json::to_string(&given).unwrap()).unwrap(), given);
    }
}

#[test]
fn invalid_entries_are_reported_by_key() {
    let errors: Vec<String> = [
        json!([]),
        json!({"file": "a"}),
        json!({"completed": "x"}),
        json!({"file": "../a", "completed": "x"}),
        json!({"file": "/a", "completed": "x"}),
        json!({"file": "a", "completed": "x".repeat(1001)}),
        json!({"file": "a", "format": "gingko"}),
        json!({"file": "a", "format": "ginkgo", "failed": "x"}),
        json!({"file": "a", "failed": "x"}),
    ]
    .into_iter()
    .map(|progress| read(progress).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(errors.join("\n"));
}
