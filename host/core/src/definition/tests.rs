//! Tests for definitions: real ones, all keys, and all errors.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::{Driver, NameError};

/// Returns a definition with `more` after the required keys.
fn with(more: &str) -> String {
    format!("sonobuoy-config: {{driver: Job, plugin-name: p}}\nspec: {{image: i, name: plugin}}\n{more}")
}

/// Returns a definition with `config` among the keys of `sonobuoy-config`.
fn with_config(config: &str) -> String {
    format!("sonobuoy-config: {{driver: Job, plugin-name: p, {config}}}\nspec: {{}}\n")
}

fn parse(yaml: &str) -> Parsed {
    Definition::parse(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml:.1000}"))
}

fn error(yaml: &str) -> String {
    Definition::parse(yaml).map_or_else(|error| error.to_string(), |parsed| panic!("{parsed:?}"))
}

/// Parses a definition that must not cause warnings.
fn clean(yaml: &str) -> Definition {
    let parsed = parse(yaml);
    assert_eq!(parsed.warnings, [], "{yaml:.1000}");
    parsed.definition
}

fn warnings(yaml: &str) -> Vec<String> {
    parse(yaml).warnings.iter().map(ToString::to_string).collect()
}

/// Formats a definition and its warnings for a snapshot.
fn shown(parsed: &Parsed) -> String {
    let warnings: String = parsed.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    format!("{warnings}{}", serde_json::to_string_pretty(&parsed.definition.to_json()).unwrap())
}

#[test]
fn real_definitions_are_read() {
    for (name, yaml) in [
        ("cmd-runner", include_str!("../../tests/data/cmd-runner.yaml")),
        ("kube-bench", include_str!("../../tests/data/kube-bench.yaml")),
        ("post-processor-sidecar", include_str!("../../tests/data/post-processor-sidecar.yaml")),
        ("progress-reporter", include_str!("../../tests/data/progress-reporter.yaml")),
    ] {
        let parsed = parse(yaml);
        insta::assert_snapshot!(name, shown(&parsed));
        let again = Definition::from_json(parsed.definition.to_json()).unwrap();
        assert_eq!(again.definition, parsed.definition, "{name}");
        assert_eq!(Definition::parse_bytes(yaml.as_bytes()), Ok(parsed));
    }
}

#[test]
fn the_definition_of_an_old_archive_is_read() {
    let document: Value = serde_json::from_str(include_str!("../../tests/data/systemd-logs.definition.json")).unwrap();
    let parsed = Definition::from_json(document.clone()).unwrap();
    assert_eq!(parsed.warnings, []);
    assert_eq!((parsed.definition.name.as_str(), parsed.definition.driver), ("systemd-logs", Driver::DaemonSet));
    // The round trip must not lose anything.
    assert_eq!(parsed.definition.to_json(), document["Definition"]);
}

#[test]
fn every_key_is_read() {
    let yaml = r#"
apiVersion: v0
kind: manifest
sonobuoy-config:
  driver: DaemonSet
  plugin-name: disks
  result-format: manual
  result-files: [disks.yaml, 7]
  skip-cleanup: true
  description: looks at disks
  source-url: https://example.org/disks.yaml
  order: -3
spec:
  name: plugin
  image: registry.example.org/disks:$SONOBUOY_K8S_VERSION
  command: [sh, -c]
  args: ["exec ./disks"]
  workingDir: /work
  env:
    - {name: A, value: b}
    - {name: EMPTY}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
  volumeMounts:
    - {mountPath: /host, name: root}
podSpec:
  nodeSelector: {disk: ssd}
extra-volumes:
  - {name: root, hostPath: {path: /}}
config-map:
  settings.yaml: "a: b"
  list.json: "[1, 2]"
  any.txt: "{{"
plumbline:
  expectations: my-nodes
  options: {deep: {er: [1, null, true]}}
  timeout: 90m
  limits: {wall: 2m, memory: 128MiB, items: 1000}
  depends-on: []
"#;
    let definition = clean(yaml);
    assert_eq!(definition.name.as_str(), "disks");
    assert_eq!(definition.driver, Driver::DaemonSet);
    assert_eq!(definition.result_format.as_deref(), Some("manual"));
    assert_eq!(definition.result_files, ["disks.yaml", "7"]);
    assert!(definition.skip_cleanup);
    assert_eq!(definition.description.as_deref(), Some("looks at disks"));
    assert_eq!(definition.source_url.as_deref(), Some("https://example.org/disks.yaml"));
    assert_eq!(definition.order, -3);
    let spec = &definition.spec;
    assert_eq!((spec.name(), spec.working_dir()), (Some("plugin"), Some("/work")));
    assert_eq!((spec.command(), spec.args()), (&["sh".into(), "-c".into()][..], &["exec ./disks".into()][..]));
    let from = json!({"fieldRef": {"fieldPath": "spec.nodeName"}});
    let env = [("A", EnvValue::Text("b".into())), ("EMPTY", EnvValue::Text("".into())), ("NODE", EnvValue::From(from))];
    assert_eq!(spec.env(), env.map(|(name, value)| EnvVar { name: name.to_owned(), value }));
    assert_eq!(spec.raw()["volumeMounts"], json!([{"mountPath": "/host", "name": "root"}]));
    assert_eq!(definition.pod_spec, Some(json!({"nodeSelector": {"disk": "ssd"}})));
    assert_eq!(definition.extra_volumes, [json!({"name": "root", "hostPath": {"path": "/"}})]);
    assert_eq!(definition.config_map.len(), 3);
    assert_eq!(definition.config_map["settings.yaml"], "a: b");
    let own = &definition.plumbline;
    assert_eq!(own.expectations.as_deref(), Some("my-nodes"));
    assert_eq!(Value::from(own.options.clone()), json!({"deep": {"er": [1, null, true]}}));
    assert_eq!(own.timeout, Some(Duration::from_secs(5400)));
    let limits = LimitsRequest {
        wall_seconds: Some(120),
        memory: Some(128 << 20),
        items: Some(1000),
        ..LimitsRequest::default()
    };
    assert_eq!(own.limits, limits);

    let json = definition.to_json();
    assert_eq!(
        Definition::from_json(json.clone()).unwrap(),
        Parsed { definition: definition.clone(), warnings: vec![] }
    );
    assert_eq!(Definition::from_json(json!({"Definition": json, "SessionID": "x"})).unwrap().definition, definition);
}

#[test]
fn missing_keys_have_defaults() {
    let definition = clean(&with(""));
    assert_eq!((definition.result_format.as_deref(), definition.expectations_module()), (None, "job"));
    assert_eq!(definition.plumbline, Extensions::default());
    assert_eq!((definition.order, definition.skip_cleanup), (0, false));
    assert_eq!(definition.pod_spec, None);
    assert_eq!(
        definition.to_json(),
        json!({"sonobuoy-config": {"driver": "Job", "plugin-name": "p"}, "spec": {"image": "i", "name": "plugin"}})
    );
    // `null` equals an absent value.
    let nulls = "sonobuoy-config: {driver: Job, plugin-name: p, result-format: , result-files: ~, order: null}\n\
                 spec: {image: i, name: plugin}\npodSpec:\nextra-volumes:\nconfig-map:\nplumbline:\n";
    assert_eq!(clean(nulls), definition);
}

#[test]
fn the_modules_follow_from_format_and_driver() {
    for (driver, module) in [("Job", "job"), ("job", "job"), ("DAEMONSET", "daemonset"), ("process", "job")] {
        let yaml = format!("sonobuoy-config: {{driver: {driver}, plugin-name: p, result-format: junit}}\nspec: {{}}");
        let definition = clean(&yaml);
        assert_eq!(definition.expectations_module(), module, "{driver}");
    }
    let definition = clean(&with("plumbline: {summarizer: totals}"));
    assert_eq!(definition.plumbline.summarizer.as_deref(), Some("totals"));
    let definition = clean(&with("plumbline: {expectations: every-second-node}"));
    assert_eq!(definition.expectations_module(), "every-second-node");
    let odd = parse(&with_config("result-format: ../junit")).definition;
    assert_eq!(odd.result_format.as_deref(), Some("../junit"));
}

#[test]
fn further_files_stay_inside_the_directory() {
    let definition = clean(&with("plumbline: {files: [./rules.json, 'data/**']}"));
    assert_eq!(definition.plumbline.files, ["rules.json", "data/**"]);
    assert_eq!(definition.to_json()["plumbline"]["files"], json!(["rules.json", "data/**"]));
    for bad in ["/etc/passwd", "../secret", "data/../../x", "data//x", "", "./", "a\\\\b", "data/"] {
        let error = Definition::parse(&with(&format!("plumbline: {{files: [ok, \"{bad}\"]}}"))).unwrap_err();
        assert!(error.to_string().starts_with("`plumbline.files[1]` is invalid: "), "{bad}: {error}");
    }
    let many = with(&format!("plumbline: {{files: [{}]}}", "a, ".repeat(65)));
    assert!(Definition::parse(&many).unwrap_err().to_string().contains("more than 64"));
}

#[test]
fn keys_are_matched_without_regard_to_case() {
    let yaml = "Sonobuoy-Config: {DRIVER: Job, Plugin-Name: p, RESULT-FORMAT: junit, Order: 2}\nSPEC: {}\nPODSPEC: {a: 1}\n\
                Plumbline: {TimeOut: 5s, Limits: {Wall-Seconds: 3}}";
    let definition = clean(yaml);
    assert_eq!((definition.result_format.as_deref(), definition.order), (Some("junit"), 2));
    assert_eq!(definition.pod_spec, Some(json!({"a": 1})));
    assert_eq!(definition.plumbline.timeout, Some(Duration::from_secs(5)));
    assert_eq!(definition.plumbline.limits.wall_seconds, Some(3));
}

#[test]
fn odd_definitions_are_read_with_warnings() {
    let yaml = r#"
colour: red
sonobuoy-config:
  driver: Job
  plugin-name: p
  result-type: p
  source_url: https://example.org
  result-fromat: junit
  result-format: "No Such Thing"
  result-files: [a/b.xml, "", ok.xml]
spec:
  Image: i
  volumes: []
  command: [sleep, 5]
  env: [{name: NUMBER, value: 1}, {name: TRUTH, value: true}]
config-map: {number: 7}
plumbline: {colour: red, limits: {cpu: 1}}
"#;
    insta::assert_snapshot!(shown(&parse(yaml)));
    let twice = "sonobuoy-config: {driver: Job, plugin-name: a}\nspec: {}\nspec: {image: last}\n";
    let said = warnings(twice);
    assert!(said.len() == 1 && said[0].contains("twice") && said[0].contains("line"), "{said:?}");
    assert_eq!(parse(twice).definition.spec.image(), Some("last"));
}

#[test]
fn errors_name_the_key() {
    let mut said = String::new();
    let cases = [
        "".to_owned(),
        "# nothing\n".to_owned(),
        "just text".to_owned(),
        "- a\n- list".to_owned(),
        "a: [".to_owned(),
        "{}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: p}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: []".to_owned(),
        "sonobuoy-config: {plugin-name: p}\nspec: {}".to_owned(),
        "sonobuoy-config: {driver: Job}\nspec: {}".to_owned(),
        "sonobuoy-config: text\nspec: {}".to_owned(),
        "sonobuoy-config: {driver: Cron, plugin-name: p}\nspec: {}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: Upper_Case}\nspec: {}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: sonobuoy}\nspec: {}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: ../../etc}\nspec: {}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: [p]}\nspec: {}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: p, Driver: Job}\nspec: {}".to_owned(),
        with_config("order: 1.5"),
        with_config("order: 99999999999"),
        with_config("skip-cleanup: 7"),
        with_config("result-files: a.xml"),
        with_config("result-files: [{a: b}]"),
        with("podSpec: [a]"),
        with("extra-volumes: [a]"),
        with("extra-volumes: {a: b}"),
        with("config-map: {../../x: y}"),
        with("config-map: {a.yaml: 'a: ['}"),
        with("config-map: {a.json: '{'}"),
        with("config-map: {a: {b: c}}"),
        with("plumbline: {expectations: No/Module}"),
        with("plumbline: {summarizer: No/Module}"),
        with("plumbline: {depends-on: [other]}"),
        with("plumbline: {timeout: 5 minutes}"),
        with("plumbline: {timeout: -5}"),
        with("plumbline: {options: [a]}"),
        with("plumbline: {limits: {memory: much}}"),
        with("plumbline: {limits: {wall: 0}}"),
        with("plumbline: {limits: {wall: 5, wall-seconds: 5}}"),
        with("plumbline: {limits: {items: -1}}"),
        with("plumbline: {verdct: [{judge: checks}]}"),
        with("plumbline: {verdict: [{judge: checks, dta: [a.yaml]}]}"),
        with("plumbline: {limits: {Memry: 1}}"),
        with("plumbline: {reruns: {plugin: e2e, focus: F, clera: [S]}}"),
        with("plumblin: {verdict: [{judge: checks}]}"),
        "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {env: [{value: v}]}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {env: [{name: a=b}]}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {env: [{name: y}]}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {command: ./run.sh}".to_owned(),
        "sonobuoy-config: {driver: Job, plugin-name: p}\nspec: {args: [[a]]}".to_owned(),
        "a: b\n---\nc: d\n".to_owned(),
    ];
    for yaml in &cases {
        said.push_str(&format!("{}\n    {}\n", yaml.replace('\n', "\\n"), error(yaml)));
    }
    insta::assert_snapshot!(said);
    assert!(matches!(
        Definition::parse("sonobuoy-config: {driver: Job, plugin-name: sonobuoy}\nspec: {}"),
        Err(DefinitionError::Name(NameError::Reserved(_)))
    ));
}

#[test]
fn empty_documents_around_the_definition_do_not_count() {
    for yaml in [format!("---\n{}", with("")), format!("{}---\n", with("")), format!("# head\n---\n{}...\n", with(""))]
    {
        assert_eq!(clean(&yaml), clean(&with("")), "{yaml}");
    }
    assert_eq!(Definition::parse(&format!("{}---\n{}", with(""), with(""))), Err(DefinitionError::SeveralDocuments));
}

#[test]
fn invalid_text_and_too_many_bytes_are_rejected() {
    assert_eq!(Definition::parse_bytes(b"spec: \xff\xfe"), Err(DefinitionError::NotUtf8 { at: 6 }));
    assert_eq!(Definition::parse_bytes("\u{feff}".as_bytes()).err(), Definition::parse("").err());
    assert_eq!(clean(&format!("\u{feff}{}", with(""))), clean(&with("")));

    let ten_megabytes = format!("{}description: {}", with(""), "x".repeat(10 << 20));
    let too_large = DefinitionError::TooLarge { bytes: ten_megabytes.len() as u64 };
    assert_eq!(Definition::parse(&ten_megabytes), Err(too_large.clone()));
    // The size is reported even if the limit cuts a character in two.
    assert_eq!(Definition::parse_bytes(ten_megabytes.as_bytes()), Err(too_large));
    assert!(matches!(Definition::parse_bytes(&vec![0xff; MAX_YAML_BYTES + 1]), Err(DefinitionError::TooLarge { .. })));
}

#[test]
fn yaml_that_grows_is_stopped() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{},", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let loops = "a: &a [*a]\n".to_owned();
    let text_bomb = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(900));
    let deep_flow = format!("a: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let deep_block: String = (0..1_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    let deep_list = format!("{}x\n", "- ".repeat(10_000));
    let many_documents = "---\na: b\n".repeat(10_000);
    let many_nodes = format!("a: [{}]\n", "1,".repeat(MAX_YAML_BYTES / 2 - 100));
    for (name, yaml) in [
        ("aliases of aliases", bomb),
        ("an alias of itself", loops),
        ("aliases of long text", text_bomb),
        ("nested flow", deep_flow),
        ("nested blocks", deep_block),
        ("nested lists", deep_list),
        ("many documents", many_documents),
        ("many nodes", many_nodes),
    ] {
        let refused = Definition::parse(&format!("{}{yaml}", with("")));
        let refused_alone = Definition::parse(&yaml);
        for refused in [refused, refused_alone] {
            assert!(matches!(refused, Err(DefinitionError::Yaml(_))), "{name}: {refused:?}");
            assert!(refused.unwrap_err().to_string().len() < 10_000, "{name}");
        }
        // Files of the config map are untrusted YAML too.
        if yaml.len() < MAX_YAML_BYTES / 2 && name != "many documents" {
            let document = json!({
                "sonobuoy-config": {"driver": "Job", "plugin-name": "p"}, "spec": {}, "config-map": {"a.yaml": yaml}
            });
            let refused = Definition::from_json(document);
            assert!(matches!(refused, Err(DefinitionError::ConfigMapValue { .. })), "{name}: {refused:?}");
        }
    }
}

#[test]
fn aliases_and_merge_keys_within_reason_are_read() {
    let yaml = "sonobuoy-config: {driver: Job, plugin-name: p}\n\
                spec:\n  image: i\n  env: &env [{name: A, value: a}]\npodSpec:\n  containers:\n  - env: *env\n";
    assert_eq!(clean(yaml).pod_spec, Some(json!({"containers": [{"env": [{"name": "A", "value": "a"}]}]})));
}

#[test]
fn scalars_are_read_as_the_yaml_of_the_field_reads_them() {
    // YAML 1.1, as Kubernetes and its tools read it.
    assert!(clean(&with_config("skip-cleanup: yes")).skip_cleanup);
    assert!(!clean(&with_config("skip-cleanup: off")).skip_cleanup);
    let modes = clean(&with("extra-volumes: [{name: c, configMap: {defaultMode: 0644}}]"));
    assert_eq!(modes.extra_volumes[0]["configMap"]["defaultMode"], json!(420));
    let text = parse(&with_config("description: 1.5, result-format: true")).definition;
    assert_eq!((text.description.as_deref(), text.result_format.as_deref()), (Some("1.5"), Some("true")));
}

#[test]
fn names_are_unique_in_a_run() {
    let [a, b] =
        ["a", "b"].map(|name| clean(&format!("sonobuoy-config: {{driver: Job, plugin-name: {name}}}\nspec: {{}}")));
    assert_eq!(check_set(&[]), Ok(()));
    assert_eq!(check_set(&[a.clone(), b.clone()]), Ok(()));
    assert_eq!(check_set(&[a.clone(), b, a.clone()]), Err(DefinitionError::DuplicatePlugin(a.name)));
}

#[test]
fn a_long_key_or_value_does_not_make_a_long_message() {
    let key = "k".repeat(1 << 20);
    for yaml in [with(&format!("? {key}\n: x\n")), with_config(&format!("? '{key}' : x"))] {
        let said = warnings(&yaml).concat();
        assert!(said.len() < 1_000, "{} bytes", said.len());
    }
    for yaml in [
        with_config(&format!("order: '{key}'")),
        with(&format!("config-map: {{? '{key}' : x}}")),
        with(&format!("plumbline: {{timeout: '{key}'}}")),
        with(&format!("plumbline: {{limits: {{memory: '{key}'}}}}")),
        with(&format!("plumbline: {{expectations: '{key}'}}")),
        format!("sonobuoy-config: {{driver: {key}, plugin-name: p}}\nspec: {{}}"),
        format!("sonobuoy-config: {{driver: Job, plugin-name: {key}}}\nspec: {{}}"),
    ] {
        let said = error(&yaml);
        assert!(said.len() < 1_000, "{} bytes", said.len());
    }
}
