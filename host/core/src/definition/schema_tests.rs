//! Tests that the reader and the schema agree.

use boon::{Compiler, SchemaIndex, Schemas};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde_json::{Map, Value, json};

use super::*;
use crate::ModuleLimits;
use crate::definition::{Definition, Warning};

/// Validates values against the schema, as an editor does.
struct Checker(Schemas, SchemaIndex);

impl Checker {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("definition", definition_schema()).unwrap();
        let index = compiler.compile("definition", &mut schemas).unwrap();
        Self(schemas, index)
    }

    fn accepts(&self, value: &Value) -> bool {
        self.refusal(value).is_none()
    }

    fn refusal(&self, value: &Value) -> Option<String> {
        self.0.validate(value, self.1).err().map(|error| error.to_string())
    }
}

/// The values that a property accepts.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Text,
    /// A string with a pattern.
    Form,
    Choice,
    Truth,
    Whole,
    /// A whole number, or a string with a unit.
    Measure,
    List(&'static Value),
    /// A mapping with any content.
    Open,
    /// A mapping of strings.
    Texts,
    Section,
    Never,
}

/// A property of a mapping in the schema.
#[derive(Debug, Clone, Copy)]
struct Field {
    name: &'static str,
    schema: &'static Value,
    required: bool,
}

impl Field {
    fn shape(self) -> Shape {
        let has = |key: &str| self.schema.get(key).is_some();
        match self.schema.get("type") {
            None => Shape::Never,
            Some(Value::Array(_)) => Shape::Measure,
            Some(Value::String(kind)) => match kind.as_str() {
                "string" if has("enum") => Shape::Choice,
                "string" if has("pattern") => Shape::Form,
                "string" => Shape::Text,
                "boolean" => Shape::Truth,
                "integer" => Shape::Whole,
                "array" => Shape::List(&self.schema["items"]),
                "object" if has("properties") => Shape::Section,
                "object" if has("propertyNames") => Shape::Texts,
                "object" => Shape::Open,
                other => panic!("{other}"),
            },
            Some(other) => panic!("{other}"),
        }
    }
}

fn fields(mapping: &'static Value) -> Vec<Field> {
    let required: Vec<&str> = mapping["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = mapping["properties"].as_object().unwrap();
    properties
        .iter()
        .map(|(name, schema)| Field { name, schema, required: required.contains(&name.as_str()) })
        .collect()
}

fn is_open(mapping: &Value) -> bool {
    mapping.get("additionalProperties").is_none()
}

/// Lists mappings of the schema with their paths in a definition.
fn mappings() -> Vec<(&'static [&'static str], &'static Value)> {
    let paths: [(&[&str], &str); 6] = [
        (&[], TOP),
        (&["sonobuoy-config"], CONFIG),
        (&["plumbline"], PLUMBLINE),
        (&["plumbline", "limits"], LIMITS),
        (&["spec"], CONTAINER),
        (&["podSpec"], "/properties/podSpec"),
    ];
    paths.map(|(path, pointer)| (path, DEFINITION.pointer(pointer).unwrap())).to_vec()
}

/// Returns a definition with `value` at `key` of the mapping at `path`.
fn with(path: &[&str], key: &str, value: Value) -> Value {
    let mut document = json!({ "sonobuoy-config": { "driver": "Job", "plugin-name": "p" }, "spec": {} });
    let mut at = &mut document;
    for step in path {
        at = at.as_object_mut().unwrap().entry(*step).or_insert_with(|| json!({}));
    }
    at[key] = value;
    if path == ["plumbline"] && key == "grants" {
        // Rights are only valid for a check.
        at["component"] = json!("check.wasm");
    }
    document
}

fn is_unknown_key(warning: &Warning) -> bool {
    warning.text.contains("is not a known key")
}

fn unknown_keys(document: Value) -> Vec<String> {
    let parsed = Definition::from_json(document).unwrap();
    let unknown = parsed.warnings.iter().filter(|warning| is_unknown_key(warning));
    unknown.map(|warning| warning.path.clone()).collect()
}

fn good(field: Field) -> Value {
    match (field.name, field.shape()) {
        ("driver", _) => json!("Process"),
        ("plugin-name", _) => json!("node-check"),
        ("component", _) => json!("check.wasm"),
        ("sonobuoy-config", _) => json!({ "driver": "Job", "plugin-name": "p" }),
        ("reruns", _) => json!({ "plugin": "e2e", "focus": "E2E_FOCUS" }),
        ("progress", _) => json!({ "file": "e2e.log", "completed": "^ok" }),
        (_, Shape::Text) => json!("text"),
        (_, Shape::Form) => json!("name"),
        (_, Shape::Choice) => field.schema["enum"][0].clone(),
        (_, Shape::Truth) => json!(true),
        (_, Shape::Whole | Shape::Measure) => json!(1),
        (_, Shape::List(_)) => json!([]),
        (_, Shape::Open | Shape::Texts | Shape::Section) => json!({}),
        (_, Shape::Never) => unreachable!("{}", field.name),
    }
}

#[test]
fn the_schema_is_one() {
    let checker = Checker::new();
    assert!(checker.accepts(&with(&[], "kind", json!("x"))));
    let schema = definition_schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["$id"], "https://plumbline.dev/schema/definition.schema.json");
    assert_eq!(module_schema()["$id"], "https://plumbline.dev/schema/module.schema.json");
    for text in [definition_schema_text(), module_schema_text()] {
        let schema: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text, format!("{schema:#}\n"), "formatted, with sorted keys");
    }
    assert_eq!(
        module_schema()["properties"]["limits"]["properties"],
        DEFINITION.pointer(LIMITS).unwrap()["properties"]
    );
}

#[test]
fn the_reader_and_the_schema_know_the_same_keys() {
    let checker = Checker::new();
    for (path, mapping) in mappings() {
        for field in fields(mapping).into_iter().filter(|field| !matches!(field.shape(), Shape::Never)) {
            let document = with(path, field.name, good(field));
            assert_eq!(unknown_keys(document.clone()), [""; 0], "{path:?} {}", field.name);
            assert_eq!(checker.refusal(&document), None, "{path:?} {}", field.name);
        }
        // For an unknown key, the reader warns and the schema rejects it. Keys of Kubernetes are
        // not checked.
        let open = is_open(mapping);
        let document = with(path, "nobody-knows-this", json!(1));
        assert_eq!(unknown_keys(document.clone()).len(), usize::from(!open), "{path:?}");
        assert_eq!(checker.accepts(&document), open, "{path:?}");
    }
    assert!(!checker.accepts(&with(&["spec"], "volumes", json!([]))), "a container has no volumes");
}

#[test]
fn every_key_of_the_tables_is_read() {
    for (path, mapping) in mappings() {
        let open = is_open(mapping);
        for field in fields(mapping) {
            // Kubernetes checks its own keys, and two other keys have no meaning.
            let ignored = open && !["command", "args", "env", "image", "name", "workingDir"].contains(&field.name);
            if ignored || path == ["podSpec"] || ["apiVersion", "kind"].contains(&field.name) {
                continue;
            }
            let wrong = match field.shape() {
                Shape::Open | Shape::Texts | Shape::Section => json!("a text"),
                _ => json!({ "a": "mapping" }),
            };
            let read = Definition::from_json(with(path, field.name, wrong));
            let error = read.expect_err(field.name).to_string();
            assert!(error.contains(field.name), "{}: {error}", field.name);
        }
    }
}

#[test]
fn every_key_has_its_words_and_examples_that_are_right() {
    let checker = Checker::new();
    for (path, mapping) in mappings() {
        for field in fields(mapping).into_iter().filter(|field| !matches!(field.shape(), Shape::Never)) {
            let property = field.schema;
            assert!(!property["title"].as_str().unwrap().is_empty(), "{}", field.name);
            assert!(property["description"].as_str().unwrap().ends_with('.'), "{}", field.name);
            let values = property["examples"].as_array().cloned().unwrap_or_default();
            for value in values.into_iter().chain(property.get("default").cloned()) {
                let document = with(path, field.name, value);
                assert_eq!(checker.refusal(&document), None, "{}: {document}", field.name);
                let parsed = Definition::from_json(document).unwrap();
                assert_eq!(parsed.warnings, [], "{}", field.name);
            }
        }
    }
}

#[test]
fn defaults_of_limits_are_those_that_count() {
    let defaults = serde_json::to_value(ModuleLimits::default()).unwrap();
    let limits = &definition_schema()["properties"]["plumbline"]["properties"]["limits"]["properties"];
    for (key, value) in defaults.as_object().unwrap() {
        let key = if key == "wall-seconds" { "wall" } else { key };
        assert_eq!(limits[key]["default"], *value, "{key}");
    }
}

#[test]
fn the_schema_rejects_the_same_documents_as_the_reader() {
    let checker = Checker::new();
    let own = |key: &str, value: Value| with(&["plumbline"], key, value);
    let limit = |key: &str, value: Value| with(&["plumbline", "limits"], key, value);
    let cases = [
        with(&["sonobuoy-config"], "driver", json!("Deployment")),
        with(&["sonobuoy-config"], "plugin-name", json!("Upper")),
        with(&["sonobuoy-config"], "plugin-name", json!("sonobuoy")),
        with(&["sonobuoy-config"], "plugin-name", json!("plumbline")),
        with(&["sonobuoy-config"], "order", json!(1_u64 << 40)),
        with(&["config-map"], "..", json!("x")),
        with(&["config-map"], "a/b", json!("x")),
        with(&["config-map"], &"k".repeat(254), json!("x")),
        with(&[], "extra-volumes", json!(["root"])),
        with(&["spec"], "env", json!([{ "value": "x" }])),
        with(&["spec"], "env", json!([{ "name": "A=B" }])),
        own("expectations", json!("Zone")),
        own("component", json!("../check.wasm")),
        own("component", json!("check.wat")),
        own("grants", json!({ "files": ["/etc/../root"] })),
        own("grants", json!({ "file": ["/etc"] })),
        own("grants", json!({ "env": ["A=B"] })),
        own("grants", json!({ "kubernetes": [{ "api-version": "v1", "resources": ["*"] }] })),
        own("grants", json!({ "kubernetes": [{ "api-version": "v1", "resources": [] }] })),
        own("grants", json!({ "kubernetes": [{ "resources": ["nodes"] }] })),
        own("timeout", json!("10")),
        own("timeout", json!(-1)),
        own("timeout", json!(u64::MAX / 1_000_000_000 + 1)),
        own("depends-on", json!(["other"])),
        own("files", json!(["../secret"])),
        own("files", json!(["/etc/passwd"])),
        own("files", json!(["a//b"])),
        own("files", json!(["a/./b"])),
        own("files", json!([""])),
        own("files", json!(["a\\b"])),
        own("files", json!(vec!["a"; 65])),
        own("allow-empty", json!("yes")),
        own("verdict", json!([{}])),
        own("verdict", json!(["known-failures"])),
        own("verdict", json!([{"judge": "Known"}])),
        own("verdict", json!([{"judge": "j", "data": ["a/b"]}])),
        own("verdict", json!([{"judge": "j", "evidence": ["../x"]}])),
        own("verdict", json!([{"judge": "j", "evidence": ["/etc/passwd"]}])),
        own("verdict", json!(vec![json!({"judge": "j"}); 17])),
        limit("memory", json!(0)),
        limit("memory", json!("0MiB")),
        limit("memory", json!("many")),
        limit("wall", json!("0s")),
        limit("depth", json!(0)),
        json!({ "sonobuoy-config": { "driver": "Job", "plugin-name": "p" } }),
        json!({ "sonobuoy-config": { "driver": "Job" }, "spec": {} }),
        json!({ "spec": {} }),
        json!([]),
    ];
    for document in cases {
        assert!(Definition::from_json(document.clone()).is_err(), "{document}");
        assert!(!checker.accepts(&document), "{document}");
    }
    let mut twice = limit("wall", json!(1));
    twice["plumbline"]["limits"]["wall-seconds"] = json!(2);
    assert!(Definition::from_json(twice.clone()).is_err() && !checker.accepts(&twice));
}

#[test]
fn real_definitions_are_accepted_or_warned_of() {
    let checker = Checker::new();
    let yaml = "sonobuoy-config: {driver: DaemonSet, plugin-name: smoke, result-format: junit, result-files: [a.xml]}\n\
                spec: {command: [./check.sh], image: i, volumeMounts: [{name: r, mountPath: /node}], anything: {k8s: 1}}\n\
                podSpec: {tolerations: [{operator: Exists}], hostNetwork: true, schedulerName: mine}\n\
                config-map: {.hidden: x, a.txt: text}\n\
                plumbline: {timeout: 1h30m, limits: {memory: 512 MiB, wall: 10m}, options: {strict: true}}\n";
    let document: Value = serde_saphyr::from_str(yaml).unwrap();
    assert_eq!(checker.refusal(&document), None);
    assert_eq!(Definition::parse(yaml).unwrap().warnings, []);
}

/// Generates a value that the field accepts, where that is possible from its shape alone.
fn tame(field: Field) -> BoxedStrategy<Value> {
    match field.shape() {
        Shape::Section => section(field.schema),
        Shape::Never => Just(json!(0)).boxed(),
        Shape::Measure => prop_oneof![Just(good(field)), (1_u32..1_000_000).prop_map(Value::from)].boxed(),
        _ => Just(good(field)).boxed(),
    }
}

/// Generates values for a field: mostly ones of its shape, including edge cases, and sometimes
/// others.
fn value(field: Field) -> BoxedStrategy<Value> {
    let text = |pattern: &str| proptest::string::string_regex(pattern).unwrap().prop_map(Value::from).boxed();
    let right = match (field.name, field.shape()) {
        ("plugin-name", _) => text("[a-z0-9]{1,5}([-.][a-z0-9]{1,3}){0,3}"),
        (_, Shape::Text | Shape::Never) => text("\\PC{0,12}"),
        (_, Shape::Form) => text("[a-zA-Z0-9._/=-]{0,12}"),
        (_, Shape::Choice) => proptest::sample::select(field.schema["enum"].as_array().unwrap().as_slice()).boxed(),
        (_, Shape::Truth) => any::<bool>().prop_map(Value::from).boxed(),
        (_, Shape::Whole) => any::<i64>().prop_map(Value::from).boxed(),
        (_, Shape::Measure) => prop_oneof![
            text("[0-9]{0,19}([.][0-9]{0,4})? ?(ns|us|ms|s|m|h|B|k|kB|KiB|Mi|GB|T|TiB|x)?([0-9]{1,7}(h|m|s))?"),
            any::<u64>().prop_map(Value::from),
        ]
        .boxed(),
        (_, Shape::List(items)) if items.get("properties").is_some() => {
            prop::collection::vec(section(items), 0..3).prop_map(Value::from).boxed()
        }
        ("files", _) => prop::collection::vec(text("[a./*\\\\ \\PC]{0,6}"), 0..3).prop_map(Value::from).boxed(),
        (_, Shape::List(_)) => {
            prop::collection::vec(prop_oneof![text("[a-z./]{0,6}"), Just(json!({ "name": "x" }))], 0..3)
                .prop_map(Value::from)
                .boxed()
        }
        (_, Shape::Open) => Just(json!({ "a": [1, null] })).boxed(),
        // Files named as YAML or JSON must parse as such, which a schema cannot express.
        (_, Shape::Texts) => prop::collection::btree_map("[a-zA-Z0-9./_-]{0,6}", "\\PC{0,6}", 0..3)
            .prop_filter("holds YAML", |files| !files.keys().any(|key| key.ends_with(".yml")))
            .prop_map(|files| json!(files))
            .boxed(),
        (_, Shape::Section) => section(field.schema),
    };
    let wrong = prop_oneof![
        Just(json!("x")),
        Just(json!(7)),
        Just(json!(-1)),
        Just(json!([])),
        Just(json!({})),
        Just(json!(true))
    ];
    prop_oneof![400 => tame(field), 30 => right, 1 => wrong].boxed()
}

/// Generates a mapping of these fields.
fn section(mapping: &'static Value) -> BoxedStrategy<Value> {
    let open = is_open(mapping);
    let fields: Vec<_> = fields(mapping)
        .into_iter()
        .map(|field| {
            let chance = match field {
                // A definition without a check needs it.
                Field { required: true, .. } | Field { name: "spec", .. } => 0.99,
                _ if matches!(field.shape(), Shape::Never) => 0.01,
                // These keys are rejected with any value, or as a pair.
                Field { name: "depends-on" | "wall-seconds", .. } => 0.05,
                // Most mappings have few keys, since every additional key may make the document
                // invalid.
                _ => 0.2,
            };
            prop::option::weighted(chance, value(field)).prop_map(move |value| (field.name, value))
        })
        .collect();
    let foreign = prop::option::weighted(if open { 0.3 } else { 0.02 }, Just(json!("x")));
    (fields, foreign)
        .prop_map(|(fields, foreign)| {
            let mut map = Map::new();
            for (name, value) in fields {
                if let Some(value) = value {
                    map.insert(name.to_owned(), value);
                }
            }
            if let Some(value) = foreign {
                map.insert("foreign".to_owned(), value);
            }
            Value::Object(map)
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn documents_that_match_the_schema_are_read_without_a_warning(document in section(&DEFINITION)) {
        thread_local!(static CHECKER: Checker = Checker::new());
        if CHECKER.with(|checker| checker.accepts(&document)) {
            let parsed = Definition::from_json(document);
            prop_assert!(parsed.is_ok(), "{:?}", parsed);
            prop_assert_eq!(parsed.unwrap().warnings, vec![]);
        } else if let Ok(parsed) = Definition::from_json(document.clone()) {
            // The reader may be more lenient, but it must warn about every unknown key.
            let unknown = |path: &[&str]| {
                let at = path.iter().try_fold(&document, |at, step| at.get(*step));
                at.and_then(|at| at.get("foreign")).is_some()
            };
            let closed = [
                &[][..],
                &["sonobuoy-config"],
                &["plumbline"],
                &["plumbline", "limits"],
                &["plumbline", "reruns"],
                &["plumbline", "progress"],
                &["plumbline", "suite"],
                &["plumbline", "permissions"],
            ];
            let rules = ["cluster", "namespace"].map(|key| document.pointer(&format!("/plumbline/permissions/{key}")));
            let lists = rules.into_iter().chain([document.pointer("/plumbline/verdict")]);
            let entries = lists.flatten().filter_map(Value::as_array).flatten();
            let in_lists = entries.filter(|entry| entry.get("foreign").is_some()).count();
            let expected = closed.iter().filter(|path| unknown(path)).count() + in_lists;
            let said = parsed.warnings.iter().filter(|warning| is_unknown_key(warning)).count();
            prop_assert_eq!(said, expected);
        }
    }
}

/// Checks that the property below does not hold vacuously.
#[test]
fn many_generated_definitions_are_accepted_and_many_are_not() {
    let checker = Checker::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = section(&DEFINITION);
    let accepted = (0..200).filter(|_| checker.accepts(&strategy.new_tree(&mut runner).unwrap().current())).count();
    assert!((40..180).contains(&accepted), "{accepted} of 200");
}

#[test]
fn projects_of_modules_have_a_schema_too() {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("module", module_schema()).unwrap();
    let index = compiler.compile("module", &mut schemas).unwrap();
    let accepts = |value: Value| schemas.validate(&value, index).is_ok();
    assert!(accepts(json!({ "name": "tap", "language": "c" })));
    assert!(accepts(json!({
        "name": "tap", "language": "c", "world": "post-processor-module", "formats": ["tap"], "default-files": ["**/*.tap"],
        "limits": { "memory": "128MiB" }, "schema": "options.schema.json", "sdk": "../sdk", "command": ["make"], "artifact": "a.wasm",
    })));
    for wrong in [
        json!({ "name": "tap" }),
        json!({ "name": "t_ap", "language": "c" }),
        json!({ "name": "tap", "language": "cobol" }),
        json!({ "name": "tap", "language": "c", "default_files": [] }),
        json!({ "name": "tap", "language": "c", "command": ["make"] }),
        json!({ "name": "tap", "language": "c", "command": [], "artifact": "a.wasm" }),
        json!({ "name": "tap", "language": "c", "limits": { "memory": 0 } }),
    ] {
        assert!(!accepts(wrong.clone()), "{wrong}");
    }
}
