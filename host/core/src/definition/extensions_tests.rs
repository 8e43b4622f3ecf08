mod verdict {
    use serde_json::json;

    use super::super::*;
    use crate::Definition;

    fn read(chain: Value) -> Result<Vec<VerdictEntry>, String> {
        let document = json!({
            "sonobuoy-config": {"driver": "Job", "plugin-name": "p"}, "spec": {}, "plumbline": {"verdict": chain}
        });
        let parsed = Definition::from_json(document).map_err(|error| error.to_string())?;
        assert_eq!(parsed.warnings, []);
        Ok(parsed.definition.plumbline.verdict)
    }

    #[test]
    fn a_chain_is_read_in_its_order_and_written_as_it_was() {
        let chain = json!([
            {"judge": "known-failures", "options": {"strict": true}, "data": ["known.yaml"]},
            {"judge": "checks", "evidence": ["meta/clusterhealth.json", "podlogs/kube-system/etcd-*/logs/*.txt"]},
        ]);
        let read = read(chain.clone()).unwrap();
        assert_eq!(read.iter().map(|entry| entry.judge.as_str()).collect::<Vec<_>>(), ["known-failures", "checks"]);
        assert_eq!(serde_json::to_value(read).unwrap(), chain);
    }

    #[test]
    fn what_cannot_be_right_is_named() {
        let told = |entry: Value| read(json!([entry])).unwrap_err();
        assert_eq!(told(json!({})), "required key `plumbline.verdict[0].judge` is missing");
        assert!(told(json!({"judge": "../x"})).contains("invalid module name"));
        let told = |key: &str, text: &str| told(json!({"judge": "j", key: [text]}));
        for bad in ["../x", "/etc/passwd", "a//b", "", "a\\b", "a\nb", &"x".repeat(241)] {
            assert!(told("evidence", bad).starts_with("`plumbline.verdict[0].evidence[0]`: the pattern"), "{bad}");
        }
        for bad in ["a/b", "..", ""] {
            assert!(told("data", bad).starts_with("`plumbline.verdict[0].data[0]`: the name"), "{bad}");
        }
        assert!(read(json!(vec![json!({"judge": "j"}); 17])).unwrap_err().contains("more than 16 judges"));
    }
}

mod reruns {
    use serde_json::json;

    use super::super::*;
    use crate::Definition;

    fn read(reruns: Value) -> Result<Definition, DefinitionError> {
        let document = json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "again"}, "spec": {}, "plumbline": {"reruns": reruns}});
        Definition::from_json(document).map(|parsed| parsed.definition)
    }

    #[test]
    fn the_key_is_read_and_written() {
        let definition =
            read(json!({"plugin": "e2e", "focus": "E2E_FOCUS", "clear": ["E2E_SKIP"], "strip": "[It] "})).unwrap();
        let reruns = definition.plumbline.reruns.as_ref().unwrap();
        assert_eq!(
            (reruns.plugin.as_str(), reruns.focus.as_str(), reruns.strip.as_str()),
            ("e2e", "E2E_FOCUS", "[It] ")
        );
        assert_eq!(reruns.clear, ["E2E_SKIP"]);
        assert_eq!(Definition::from_json(definition.to_json()).unwrap().definition, definition);
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        let errors: Vec<String> = [
            json!("e2e"),
            json!({"focus": "F"}),
            json!({"plugin": "e2e"}),
            json!({"plugin": "No Name", "focus": "F"}),
            json!({"plugin": "e2e", "focus": "A=B"}),
            json!({"plugin": "e2e", "focus": "F", "clear": ["A", ""]}),
            json!({"plugin": "e2e", "focus": "F", "strip": "x".repeat(201)}),
        ]
        .into_iter()
        .map(|reruns| read(reruns).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
