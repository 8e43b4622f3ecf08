use super::*;

fn error_of(text: &str) -> String {
    Manifest::parse(text, "module.yaml").unwrap_err().to_string()
}

#[test]
fn every_key_is_read() {
    let text = "
name: tap
language: c
world: post-processor-module
formats: [tap, tap14]
default-files: ['**/*.tap']
detect: [{title: TAP, prefix: ['TAP version ']}]
limits: {memory: 128MiB, wall: 5m}
schema: options.schema.json
rights: {files: [/proc], kubernetes: [{api-version: v1, resources: [nodes]}]}
sdk: ../../plugin-sdk/c
command: [make, module]
artifact: build/tap.wasm
";
    let manifest = Manifest::parse(text, "x").unwrap();
    assert_eq!((manifest.name.as_str(), manifest.language), ("tap", Language::C));
    assert_eq!(manifest.formats, Some(vec!["tap".to_owned(), "tap14".to_owned()]));
    assert_eq!(manifest.detect, [serde_json::json!({"title": "TAP", "prefix": ["TAP version "]})]);
    assert_eq!(manifest.limits.len(), 2);
    assert_eq!(manifest.rights.map(|rights| rights.files), Some(vec!["/proc".to_owned()]));
    assert_eq!(manifest.command, ["make", "module"]);
    let least = Manifest::parse("name: x\nlanguage: rust\n", "x").unwrap();
    assert_eq!((least.world, least.formats, least.artifact), (None, None, None));
}

#[test]
fn invalid_keys_are_reported_by_name() {
    for (text, part) in [
        ("", "it must be a mapping"),
        ("- a", "it must be a mapping"),
        ("name: x", "`language` is missing"),
        ("language: go", "`name` is missing"),
        ("name: x\nlanguage: go\nlangage: go", "`langage` is not a known key: did you mean `language`?"),
        ("name: x\nlanguage: go\ncolour: red", "`colour` is not a known key (name, language, "),
        ("name: x\nlanguage: cobol", "`language`: unknown language `cobol`"),
        ("name: a_b\nlanguage: go", "`name`: invalid module name `a_b`"),
        ("name: ../x\nlanguage: go", "invalid module name"),
        ("name: 3\nlanguage: go", "`name` must be text"),
        ("name: x\nlanguage: go\nformats: [A B]", "`formats`: invalid format name `A B`"),
        ("name: x\nlanguage: go\nformats: tap", "`formats` must be a list"),
        ("name: x\nlanguage: go\nrights: {file: [/proc]}", "`rights`: unknown field `file`"),
        ("name: x\nlanguage: go\nrights: {files: [/]}", "`rights`: `files`: expected the absolute path of a directory"),
        (
            "name: x\nlanguage: go\nlimits: {memroy: 1}",
            "`limits.memroy` is not a known key: did you mean `limits.memory`?",
        ),
        ("name: x\nlanguage: go\nlimits: {memory: 0}", "memory"),
        ("name: x\nlanguage: go\ndetect: {prefix: [a]}", "`detect` must be a list of rules"),
        (
            "name: x\nlanguage: go\ndetect: [{prefx: [a]}]",
            "`detect.prefx` is not a known key: did you mean `detect.prefix`?",
        ),
        ("name: x\nlanguage: go\ndetect: [{prefix: a}]", "`detect`: invalid type"),
        ("name: x\nlanguage: go\ncommand: [make]", "`artifact` is missing"),
        ("name: x\nlanguage: go\nartifact: x", "`command` is missing"),
        ("name: x\nname: y\nlanguage: go", "it is not valid YAML"),
        ("name: [", "it is not valid YAML"),
    ] {
        let message = error_of(text);
        assert!(
            message.starts_with("invalid module description `module.yaml`: ") && message.contains(part),
            "{text}: {message}"
        );
    }
}

#[test]
fn hostile_texts_are_bounded() {
    assert!(error_of(&format!("name: x\n# {}", "x".repeat(70_000))).contains("more than 65536 bytes"));
    assert!(error_of(&format!("name: {}", "[".repeat(10_000))).contains("not valid YAML"));
    let bomb = "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d]\n";
    assert!(error_of(bomb).contains("not valid YAML"), "{}", error_of(bomb));
}

#[test]
fn editors_know_the_keys_that_are_read() {
    let schema = plumbline_core::definition::module_schema();
    let keys = |at: &Value| -> Vec<String> { at["properties"].as_object().unwrap().keys().cloned().collect() };
    let sorted = |known: &[&str]| {
        let mut known: Vec<String> = known.iter().map(|key| (*key).to_owned()).collect();
        known.sort();
        known
    };
    assert_eq!(keys(&schema), sorted(&KEYS));
    assert_eq!(keys(&schema["properties"]["limits"]), sorted(&LIMITS));
    let languages: Vec<&str> = Language::ALL.map(Language::as_str).to_vec();
    assert_eq!(schema["properties"]["language"]["enum"], serde_json::json!(languages));
}
