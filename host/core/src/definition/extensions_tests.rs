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
    fn invalid_judges_are_rejected_by_key() {
        let error_of = |entry: Value| read(json!([entry])).unwrap_err();
        assert_eq!(error_of(json!({})), "required key `plumbline.verdict[0].judge` is missing");
        assert!(error_of(json!({"judge": "../x"})).contains("invalid module name"));
        let text_error = |key: &str, text: &str| error_of(json!({"judge": "j", key: [text]}));
        for bad in ["../x", "/etc/passwd", "a//b", "", "a\\b", "a\nb", &"x".repeat(241)] {
            assert!(
                text_error("evidence", bad).starts_with("`plumbline.verdict[0].evidence[0]` is invalid: the pattern"),
                "{bad}"
            );
        }
        for bad in ["a/b", "..", ""] {
            assert!(
                text_error("data", bad).starts_with("`plumbline.verdict[0].data[0]` is invalid: the name"),
                "{bad}"
            );
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
    fn invalid_entries_are_reported_by_key() {
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

mod checks {
    use serde_json::json;

    use super::super::*;
    use crate::Definition;
    use crate::definition::{ApiPermissions, PolicyRule};

    fn read(spec: &Value, own: &Value) -> Result<Definition, String> {
        let document = json!({
            "sonobuoy-config": {"driver": "DaemonSet", "plugin-name": "p"}, "spec": spec, "plumbline": own
        });
        let parsed = Definition::from_json(document).map_err(|error| error.to_string())?;
        assert_eq!(parsed.warnings, []);
        let again = Definition::from_json(parsed.definition.to_json()).unwrap().definition;
        assert_eq!(again, parsed.definition, "it survives the archive");
        Ok(parsed.definition)
    }

    #[test]
    fn a_check_needs_no_container() {
        let yaml = "sonobuoy-config: {driver: DaemonSet, plugin-name: p}\nplumbline: {component: check.wasm}\n";
        let definition = Definition::parse(yaml).unwrap().definition;
        assert_eq!(definition.plumbline.component.as_deref(), Some("check.wasm"));
        assert_eq!(definition.result_format.as_deref(), Some("items"));
        assert!(definition.plumbline.grants.is_empty());
        let spec = json!({"env": [{"name": "LEVEL", "value": "1"}], "resources": {"limits": {"memory": "1Gi"}}});
        let own = json!({"component": "a.b-c_1.wasm", "grants": {"files": ["/proc"], "env": ["LEVEL"]}});
        assert_eq!(read(&spec, &own).unwrap().plumbline.grants.files, ["/proc"]);
        // A format of the author stays.
        let yaml =
            "sonobuoy-config: {driver: Job, plugin-name: p, result-format: raw}\nplumbline: {component: c.wasm}\n";
        assert_eq!(Definition::parse(yaml).unwrap().definition.result_format.as_deref(), Some("raw"));
    }

    #[test]
    fn keys_that_contradict_a_check_are_reported() {
        let check = json!({"component": "check.wasm"});
        for (key, value) in [
            ("image", json!("x:1")),
            ("command", json!(["./x"])),
            ("args", json!(["x"])),
            ("workingDir", json!("/")),
            ("securityContext", json!({"privileged": true})),
        ] {
            let error = read(&json!({key: value}), &check).unwrap_err();
            assert!(
                error.starts_with(&format!("`spec.{key}` is invalid: a plugin with `plumbline.component`")),
                "{error}"
            );
        }
        for bad in ["../check.wasm", "a/check.wasm", "check", "Check.wasm", ".wasm"] {
            let error = read(&json!({}), &json!({"component": bad})).unwrap_err();
            assert!(error.starts_with("`plumbline.component` must be a file next to the definition"), "{error}");
        }
        let alone = read(&json!({}), &json!({"grants": {"files": ["/etc"]}})).unwrap_err();
        assert!(alone.starts_with("`plumbline.grants` is invalid: rights are for checks"), "{alone}");
        let none = Definition::parse("sonobuoy-config: {driver: Job, plugin-name: p}").unwrap_err().to_string();
        assert_eq!(none, "required key `spec` is missing");
    }

    #[test]
    fn a_misspelled_right_is_an_error() {
        for (grants, said) in [
            (json!({"file": ["/etc"]}), "`plumbline.grants.file` is invalid: unknown field"),
            (json!({"files": "/etc"}), "`plumbline.grants.files` is invalid: invalid type"),
            (json!({"files": ["/etc/"]}), "`plumbline.grants.files` is invalid: expected the absolute path"),
            (json!({"env": ["A B"]}), "`plumbline.grants.env` is invalid: expected the name of a variable"),
            (
                json!({"kubernetes": [{"api-version": "v1", "resources": ["pods/exec"]}]}),
                "`plumbline.grants.kubernetes.resources`",
            ),
            (
                json!({"kubernetes": [{"api-version": "v1", "resources": ["pods"], "verbs": ["create"]}]}),
                "`plumbline.grants.kubernetes` is invalid: unknown field",
            ),
            (json!({"files": vec!["/a"; 65]}), "`plumbline.grants.files` is invalid: there are more entries than"),
        ] {
            let error = read(&json!({}), &json!({"component": "c.wasm", "grants": grants})).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn granted_reads_become_permissions() {
        let grants = json!({"kubernetes": [
            {"api-version": "v1", "resources": ["nodes"]},
            {"api-version": "apps/v1", "resources": ["daemonsets"], "namespaces": ["kube-system"]},
        ]});
        let definition = read(&json!({}), &json!({"component": "c.wasm", "grants": grants})).unwrap();
        let rule = |group: &str, resource: &str| PolicyRule {
            api_groups: vec![group.to_owned()],
            resources: vec![resource.to_owned()],
            verbs: vec!["get".to_owned(), "list".to_owned()],
            ..PolicyRule::default()
        };
        let expected = ApiPermissions {
            cluster: vec![rule("", "nodes")],
            namespace: Vec::new(),
            elsewhere: [("kube-system".to_owned(), vec![rule("apps", "daemonsets")])].into(),
        };
        assert_eq!(definition.api_permissions(), expected);
        assert!(definition.plumbline.permissions.is_empty(), "what the definition says does not change");
    }
}
