//! Property tests for definitions.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Generates arbitrary JSON with a few levels.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z-]{1,8}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Generates a value that is mostly valid for its key and sometimes arbitrary.
fn mostly(right: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    prop_oneof![6 => right.boxed(), 1 => any_json().boxed()]
}

fn text(pattern: &'static str) -> impl Strategy<Value = Value> {
    pattern.prop_map(Value::from)
}

fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(key, value)| prop::option::weighted(0.7, value).prop_map(move |value| (key, value)))
        .collect();
    fields.prop_map(|fields| {
        Value::Object(fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
    })
}

fn limits() -> impl Strategy<Value = Value> {
    object(vec![
        ("wall", mostly(prop_oneof![text("[1-9][0-9]{0,10}(s|m|ms)"), any::<u64>().prop_map(Value::from)]).boxed()),
        ("memory", mostly(prop_oneof![text("[1-9][0-9]{0,3}(MiB|k|)"), any::<u64>().prop_map(Value::from)]).boxed()),
        ("depth", mostly(any::<u64>().prop_map(Value::from)).boxed()),
        ("log-bytes", mostly(any::<u64>().prop_map(Value::from)).boxed()),
    ])
}

fn judge() -> impl Strategy<Value = Value> {
    object(vec![
        ("judge", mostly(text("[a-z]{1,6}")).boxed()),
        ("options", mostly(object(vec![("a", any_json().boxed())])).boxed()),
        ("data", mostly(prop::collection::vec(text("[a-z./]{0,4}"), 0..2).prop_map(Value::from)).boxed()),
        ("evidence", mostly(prop::collection::vec(text("[a-z./*]{0,6}"), 0..2).prop_map(Value::from)).boxed()),
    ])
}

/// Generates documents that are definitions, or nearly so.
fn document() -> impl Strategy<Value = Value> {
    let env = object(vec![("name", text("[A-Z]{1,4}").boxed()), ("value", mostly(text("\\PC{0,8}")).boxed())]);
    let spec = object(vec![
        ("image", mostly(text("[a-z:$_]{0,12}")).boxed()),
        ("command", mostly(prop::collection::vec(any_json(), 0..2).prop_map(Value::from)).boxed()),
        ("env", mostly(prop::collection::vec(env, 0..3).prop_map(Value::from)).boxed()),
        ("resources", any_json().boxed()),
    ]);
    let own = object(vec![
        ("expectations", mostly(text("[a-z]{1,6}")).boxed()),
        ("summarizer", mostly(text("[a-z]{1,6}")).boxed()),
        ("options", object(vec![("a", any_json().boxed()), ("B", any_json().boxed())]).boxed()),
        ("timeout", mostly(prop_oneof![text("[0-9]{1,11}(s|h|ns)"), any::<u64>().prop_map(Value::from)]).boxed()),
        ("limits", limits().boxed()),
        ("allow-empty", mostly(any::<bool>().prop_map(Value::from)).boxed()),
        ("verdict", mostly(prop::collection::vec(judge(), 0..3).prop_map(Value::from)).boxed()),
    ]);
    let config = (
        object(vec![
            ("result-format", mostly(text("[a-zA-Z./]{0,8}")).boxed()),
            ("result-files", mostly(prop::collection::vec(text("[a-z./]{0,8}"), 0..3).prop_map(Value::from)).boxed()),
            ("skip-cleanup", mostly(any::<bool>().prop_map(Value::from)).boxed()),
            ("description", mostly(text("\\PC{0,20}")).boxed()),
            ("order", mostly(any::<i32>().prop_map(Value::from)).boxed()),
        ]),
        "[a-z]{1,6}",
    );
    let config = config.prop_map(|(mut config, name)| {
        config["driver"] = json!("DaemonSet");
        config["plugin-name"] = json!(name);
        config
    });
    let rest = object(vec![
        ("podSpec", mostly(object(vec![("nodeSelector", any_json().boxed())])).boxed()),
        (
            "extra-volumes",
            mostly(prop::collection::vec(object(vec![("name", any_json().boxed())]), 0..2).prop_map(Value::from))
                .boxed(),
        ),
        (
            "config-map",
            mostly(object(vec![("a.txt", any_json().boxed()), ("b.yaml", text("[a-z: \\[{]{0,8}").boxed())])).boxed(),
        ),
        ("plumbline", own.boxed()),
        ("unknown", any_json().boxed()),
    ]);
    (config, spec, rest).prop_map(|(config, spec, mut rest)| {
        rest["sonobuoy-config"] = config;
        rest["spec"] = spec;
        rest
    })
}

proptest! {
    #[test]
    fn a_definition_survives_the_archive(document in document()) {
        let Ok(parsed) = Definition::from_json(document) else { return Ok(()) };
        let json = parsed.definition.to_json();
        // Goes through text, as in an archive.
        let json: Value = serde_json::from_str(&json.to_string()).unwrap();
        let again = Definition::from_json(json.clone()).unwrap();
        prop_assert_eq!(&again.definition, &parsed.definition);
        prop_assert_eq!(again.definition.to_json(), json.clone());
        // JSON is YAML, and must parse to the same definition.
        let from_yaml = Definition::parse(&json.to_string());
        prop_assert_eq!(from_yaml.map(|parsed| parsed.definition), Ok(parsed.definition));
    }

    #[test]
    fn any_json_is_read_or_refused(value in any_json()) {
        let _ = Definition::from_json(value);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(\\PC|[\n\t &*:{}\\[\\]#|>!%@`'\"-]){0,60}") {
        let _ = Definition::parse(&text);
        let _ = Definition::parse(&format!("sonobuoy-config: {{driver: Job, plugin-name: p}}\nspec: {{}}\n{text}"));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Definition::parse_bytes(&bytes);
    }

    #[test]
    fn granted_limits_are_never_above_the_cap(request in limits(), low in 1u64..1 << 33) {
        let document = json!({
            "sonobuoy-config": {"driver": "Job", "plugin-name": "p"}, "spec": {}, "plumbline": {"limits": request}
        });
        let Ok(parsed) = Definition::from_json(document) else { return Ok(()) };
        let defaults = crate::ModuleLimits::default();
        let cap = crate::ModuleLimits { memory: low, wall_seconds: low >> 20, log_bytes: low, depth: 100, ..defaults.clone() };
        let request = parsed.definition.plumbline.limits;
        if let Ok(granted) = effective_limits(&request, &defaults, &cap) {
            prop_assert!(granted.memory <= cap.memory && granted.wall_seconds <= cap.wall_seconds);
            prop_assert!(granted.log_bytes <= cap.log_bytes && granted.depth <= cap.depth);
            for (asked, got) in [(request.memory, granted.memory), (request.log_bytes, granted.log_bytes)] {
                prop_assert!(asked.is_none_or(|asked| asked == got));
            }
        }
    }
}
