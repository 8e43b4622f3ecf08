use proptest::prelude::*;

use super::*;
use crate::profile::model::{OptionType, Version};

/// A profile with every key.
pub(crate) const WHOLE: &str = "\
name: storage
title: Storage suite
description: |
  Tests a driver.
  It needs a socket.
version: {option: spec}
local: {command: [./run.sh, --here]}
options:
- {name: spec, help: Version of the specification, type: enum, values: ['1.0', '1.1'], default: '1.1', env: SPEC}
- {name: endpoint, help: Socket of the driver, type: path, required: true, arg: '--endpoint={value}'}
- {name: size, help: Size of volumes, type: integer, default: 10, arg: '--size={value}'}
- {name: snapshots, help: Test snapshots, type: bool, default: false, env: SNAPSHOTS}
- {name: wait, help: Time for a call, type: duration, arg: '--wait={value}'}
- {name: features, help: Features to test, type: list, arg: '--features={value}'}
- {name: portal, help: Portal of the driver, type: url, env: PORTAL}
- {name: parameters, help: Parameters of volumes, type: file, file: parameters.yaml}
- {name: password, help: Password of the portal, type: string, secret: true, env: PASSWORD}
- {name: credentials, help: Credentials of the driver, type: file, secret: true, env: CREDENTIALS}
- {name: image, help: Image with the suite, type: string, image: true}
- {name: focus, help: Tests to run, type: string, env: FOCUS}
- {name: skip, help: Tests to skip, type: string, env: SKIP}
- {name: strict, help: Fail for warnings, type: bool, option: strict}
- {name: levels, help: Levels to test, type: list, option: levels}
- {name: product, help: Statements of the vendor, type: file, option: product}
modes:
- {name: quick, description: A few tests, set: {size: 1, snapshots: false}}
- {name: full, description: All tests, default: true, set: {snapshots: true}, required: 'required/{version}.txt', submit: true}
tests: tests-{version}.txt
images: images.txt
listing: {program: /bin/suite, tests: [--list, all], required: [--required], images: [--images], format: ginkgo}
selection: {focus: focus, skip: skip, clear: [snapshots], strip: '[It] ', prefix: 'Storage '}
submission:
- {name: junit.xml, from: plugins/storage/results/global/junit.xml}
- {name: PRODUCT.yaml, option: product}
";

const HEAD: &str = "name: a\ntitle: A\nversion: '1'\n";

/// Documents, and whether they are profiles.
pub(crate) const DOCUMENTS: &[(&str, bool)] = &[
    (WHOLE, true),
    ("name: a\ntitle: A\nversion: '1'\n", true),
    ("name: a\ntitle: A\nversion: '1'\nlocal: {}\n", true),
    ("name: a\ntitle: A\nversion: 1.1\n", false),
    ("name: a\ntitle: A\nversion: {cluster: true}\n", true),
    ("name: a\ntitle: A\nversion: {cluster: false}\n", false),
    ("name: a\ntitle: A\nversion: {cluster: true, option: a}\n", false),
    ("name: a\ntitle: A\nversion: '1'\nmodes: [{name: m, description: d, default: true, set: {o: []}}]\n", false),
    ("name: a\ntitle: A\nversion: {crd: as.b.example.org, annotation: b.example.org/bundle-version}\n", true),
    ("name: a\ntitle: A\nversion: {crd: as.b.example.org, annotation: release}\n", true),
    ("name: a\ntitle: A\nversion: {crd: as.b.example.org}\n", false),
    ("name: a\ntitle: A\nversion: {crd: As, annotation: release}\n", false),
    ("name: a\ntitle: A\nversion: {crd: as.b.example.org, annotation: a/b/c}\n", false),
    ("name: a\ntitle: A\nversion: {crd: as.b.example.org, annotation: release, option: a}\n", false),
    ("name: A\ntitle: A\nversion: '1'\n", false),
    ("name: a\nversion: '1'\n", false),
    ("name: a\ntitle: A\nversion: '1'\nlocal: {command: []}\n", false),
    ("name: a\ntitle: A\nversion: '1'\ntests: ../x\n", false),
    ("name: a\ntitle: A\nversion: '1'\ntests: a/../x\n", false),
    ("name: a\ntitle: A\nversion: '1'\ntests: /x\n", false),
    ("name: a\ntitle: A\nversion: '1'\nsubmission: [{name: ../x, from: a}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\noptions: [{name: o, help: h, type: text, env: A}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\noptions: [{name: o, help: h, type: string, env: A-B}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\noptions: [{name: o, help: h, type: string, arg: --a}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\noptions: [{name: o_o, help: h, type: string, env: A}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\noptions: [{name: o, help: h, type: string, default: [a], env: A}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\nmodes: [{name: m}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\nmodes: [{name: m, description: d, default: true, submit: maybe}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\nselection: {skip: o}\n", false),
    ("name: a\ntitle: A\nversion: '1'\nlisting: {program: /a, tests: [--list]}\n", true),
    ("name: a\ntitle: A\nversion: '1'\nlisting: {program: a, tests: [--list]}\n", false),
    ("name: a\ntitle: A\nversion: '1'\nlisting: {program: /../a, tests: [--list]}\n", false),
    ("name: a\ntitle: A\nversion: '1'\nlisting: {program: /a, tests: []}\n", false),
    ("name: a\ntitle: A\nversion: '1'\nlisting: {program: /a, tests: ['']}\n", false),
    ("name: a\ntitle: A\nversion: '1'\nlisting: {program: /a, tests: [--list], format: json}\n", false),
    ("name: a\ntitle: A\nversion: '1'\nlisting: {program: /a, format: lines}\n", false),
    ("name: a\ntitle: A\nversion: '1'\nlisting: {tests: [--list]}\n", false),
    ("name: a\ntitle: A\nversion: '1'\noptions: [{name: o, help: h, type: bool, option: a_b.c}]\n", true),
    ("name: a\ntitle: A\nversion: '1'\noptions: [{name: o, help: h, type: file, secret: true, env: A}]\n", true),
    ("name: a\ntitle: A\nversion: '1'\noptions: [{name: o, help: h, type: bool, option: a b}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\noptions: [{name: o, help: h, type: bool, option: ''}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\nsubmission: [{name: x}]\n", false),
    ("name: a\ntitle: A\nversion: '1'\nsubmission: [{name: x, from: a, option: o}]\n", false),
];

fn error_of(rest: &str) -> String {
    Profile::parse(format!("{HEAD}{rest}").as_bytes()).unwrap_err().to_string()
}

#[test]
fn every_key_is_read() {
    let profile = Profile::parse(WHOLE.as_bytes()).unwrap();
    assert_eq!((profile.name.as_str(), profile.title.as_str()), ("storage", "Storage suite"));
    assert_eq!(profile.description.as_deref(), Some("Tests a driver. It needs a socket."));
    assert_eq!(profile.version, Version::Option("spec".to_owned()));
    assert_eq!(profile.shown_version(), Some("1.1"));
    assert_eq!(profile.local.as_ref().unwrap().command, ["./run.sh", "--here"]);
    assert_eq!(profile.option("size").unwrap().default.as_deref(), Some("10"));
    assert_eq!(profile.option("wait").unwrap().kind, OptionType::Duration);
    assert!(profile.option("password").unwrap().secret && profile.option("endpoint").unwrap().required);
    assert_eq!(profile.default_mode().unwrap().name, "full");
    assert_eq!(profile.submitted_mode().unwrap().name, "full");
    assert_eq!(profile.option("product").unwrap().option.as_deref(), Some("product"));
    assert_eq!(profile.submission.first().unwrap().name, "junit.xml");
    let selection = profile.selection.as_ref().unwrap();
    assert_eq!(selection.options().collect::<Vec<_>>(), ["focus", "skip", "snapshots"]);
    assert_eq!((selection.strip.as_str(), selection.prefix.as_str()), ("[It] ", "Storage "));
    assert_eq!(profile.submission.last().unwrap().source, crate::profile::Source::Option("product".to_owned()));
    let listing = profile.listing.as_ref().unwrap();
    assert_eq!((listing.program.as_str(), listing.format), ("bin/suite", crate::profile::ListingFormat::Ginkgo));
    assert_eq!((&listing.tests[..], listing.required.len()), (&["--list".to_owned(), "all".to_owned()][..], 1));
    let files: Vec<_> = profile.files().collect();
    let named = |key, file: &str| (key, file.to_owned());
    assert_eq!(
        files,
        [
            named("local.command", "run.sh"),
            named("tests", "tests-*.txt"),
            named("images", "images.txt"),
            named("required", "required/*.txt")
        ]
    );
}

#[test]
fn what_is_wrong_is_named_with_its_key_and_line() {
    let option = |text: &str| format!("options:\n- {{name: o, help: h, {text}}}\n");
    for (rest, part) in [
        ("optoins: []".to_owned(), "unknown key `optoins` (line 4): did you mean `options`?"),
        ("options:\n- {help: h, type: bool}".to_owned(), "required key `name` is missing in the mapping at line 5"),
        (
            option("type: bool"),
            "`options[0]`: the value goes nowhere: add `env`, `arg`, `file`, `option` or `image: true` (line 5)",
        ),
        (
            option("type: strng, env: A"),
            "`options[0].type`: unknown type `strng` (did you mean `string`?): the types are string",
        ),
        (option("type: enum, env: A"), "lists its `values`"),
        ("selection: {focus: none}".to_owned(), "`selection.focus`: unknown option `none` (line 4)"),
        (
            format!("{}selection: {{focus: o}}", option("type: string, arg: '--o={value}'")),
            "`selection.focus`: the option must have `env`, and no `arg`",
        ),
        (
            format!("{}selection: {{focus: o}}", option("type: bool, env: A")),
            "`selection.focus`: the option must have the type `string`",
        ),
        (
            format!("{}selection: {{focus: o, clear: [p]}}", option("type: string, env: A")),
            "`selection.clear[0]`: unknown option `p`",
        ),
        (option("type: string, values: [a], env: A"), "only an option of type `enum` has `values`"),
        (option("type: bool, env: A, default: maybe"), "`options[0].default`: expected `true` or `false`"),
        (option("type: bool, env: A, default: true, required: true"), "is never missing"),
        (option("type: string, env: RESULTS_DIR"), "Plumbline sets `RESULTS_DIR` itself"),
        (option("type: string, env: SONOBUOY_X"), "Plumbline sets `SONOBUOY_X` itself"),
        (option("type: string, secret: true, arg: 'a={value}'"), "a secret has `env`"),
        (option("type: string, secret: true, env: A, default: x"), "a secret has `env`"),
        (option("type: file, env: A"), "has `file` or `option`, and no `env`"),
        (option("type: file, option: a, arg: 'a={value}'"), "has `file` or `option`, and no `env`"),
        (option("type: string, option: a/b"), "`options[0].option`: write a key of letters"),
        (option("type: string, secret: true, env: A, option: a"), "a secret has `env`"),
        (option("type: bool, option: a}\n- {name: p, help: h, type: bool, option: a"), "`a` belongs to another option"),
        ("submission: [{name: a, option: b}]".to_owned(), "`submission[0].option`: unknown option `b`"),
        ("submission: [{name: a}]".to_owned(), "`submission[0]`: write either `from` or `option`"),
        (
            format!("{}submission: [{{name: a, option: o}}]", option("type: bool, env: A")),
            "`submission[0].option`: the option must have the type `file`",
        ),
        (
            format!("{}submission: [{{name: a, option: o}}]", option("type: file, secret: true, env: A")),
            "`submission[0].option`: the option is a secret",
        ),
        (option("type: file, secret: true, file: a"), "a secret has `env`"),
        (option("type: path, env: A"), "the profile has no `local`"),
        (option("type: string, env: A}\n- {name: o, help: h, type: string, env: B"), "option `o` is listed twice"),
        (option("type: string, env: A}\n- {name: p, help: h, type: string, env: A"), "`A` belongs to another option"),
        ("modes: [{name: m, description: d}]".to_owned(), "no mode is the default"),
        (
            "modes: [{name: m, description: d, default: true, set: {x: 1}}]".to_owned(),
            "`modes[0].set.x`: unknown option",
        ),
        (
            "modes: [{name: m, description: d, default: true}, {name: n, description: d, default: true}]".to_owned(),
            "mode `m` is the default already",
        ),
        (
            "modes: [{name: m, description: d, submit: true}, {name: n, description: d, submit: true}]".to_owned(),
            "`modes[1].submit`: results of mode `m` are submitted already",
        ),
        ("tests: tests-{version}.txt".to_owned(), "the version is fixed"),
        ("listing: {program: a, tests: [b]}".to_owned(), "`listing.program`: write the path of the program"),
        ("listing: {program: /a}".to_owned(), "`listing`: the program prints nothing"),
        ("listing: {program: /a, images: ['']}".to_owned(), "`listing.images`: write arguments of 1 to 500"),
        ("listing: {program: /a, tests: [b], format: c}".to_owned(), "`listing.format`: write `lines` or `ginkgo`"),
        ("local: {command: [../run.sh]}".to_owned(), "`local.command`: the program is a file of the bundle"),
        ("tests: 'tests/*.txt'".to_owned(), "`tests`: write the path of a file"),
        ("submission: [{name: a, from: ../b}]".to_owned(), "`submission[0].from`: write a path in the archive"),
        ("name: b".to_owned(), "invalid YAML: "),
        ("tests: [a]".to_owned(), "invalid YAML: "),
        ("local: {command: [&a x, *a]}".to_owned(), "invalid YAML: "),
    ] {
        let message = error_of(&rest);
        assert!(message.contains(part), "{rest}\n{message}");
    }
}

#[test]
fn the_version_can_be_in_an_annotation_of_the_cluster() {
    let parse = |version: &str| {
        Profile::parse(format!("name: a\ntitle: A\nversion: {version}\ntests: '{{version}}.txt'\n").as_bytes())
    };
    let profile = parse("{crd: as.b.example.org, annotation: b.example.org/bundle-version}").unwrap();
    let (name, annotation) = ("as.b.example.org".to_owned(), "b.example.org/bundle-version".to_owned());
    assert_eq!(profile.version, Version::Crd { name, annotation });
    assert_eq!(profile.shown_version(), None);
    let error_for = |version: &str| parse(version).unwrap_err().to_string();
    assert!(error_for("{crd: as, annotation: b}").starts_with("`version.crd`: write the name of a custom resource"));
    assert!(error_for("{crd: as.b.org, annotation: ''}").starts_with("`version.annotation`: write the key"));
    assert!(error_for("{crd: as.b.org}").contains("or `{crd: NAME, annotation: KEY}` (line 3)"));
}

#[test]
fn a_mode_lists_the_alternatives_of_an_expression() {
    let parse = |option: &str, value: &str| {
        let options = "[{name: f, help: h, type: string, env: F}, {name: o, help: h, type: string, env: O}]";
        let modes = format!("[{{name: m, description: d, default: true, set: {{{option}: {value}}}}}]");
        Profile::parse(format!("{HEAD}options: {options}\nselection: {{focus: f}}\nmodes: {modes}\n").as_bytes())
    };
    assert_eq!(parse("f", r"['a\[b\]', c d]").unwrap().modes[0].set["f"], r"a\[b\]|c d");
    for (option, value, part) in [
        ("f", "[]", "or a list of strings, which are alternatives"),
        ("f", "[a, '']", "or a list of strings, which are alternatives"),
        ("f", "[a, 1]", "or a list of strings, which are alternatives"),
        ("o", "[a]", "write text, a number or a boolean"),
    ] {
        let error = parse(option, value).unwrap_err().to_string();
        assert!(error.contains(part), "{option}: {value}\n{error}");
    }
}

#[test]
fn sizes_are_bounded() {
    let many: String = (0..201).map(|at| format!("- {{name: o{at}, help: h, type: bool, env: A{at}}}\n")).collect();
    assert!(error_of(&format!("options:\n{many}")).contains("it has 201 entries, more than 200"));
    let large = vec![b'#'; MAX_PROFILE_BYTES + 1];
    assert!(matches!(Profile::parse(&large), Err(ProfileError::TooLarge(_))));
    assert_eq!(Profile::parse(b"name: \xff"), Err(ProfileError::NotUtf8(6)));
    assert!(error_of(&format!("title: {}", "x".repeat(2000))).len() < 400);
}

proptest! {
    /// Damaged profiles are errors or other profiles, never panics.
    #[test]
    fn any_text_is_read_or_rejected(cut in 0..WHOLE.len(), with in "[\\x00-\\x7f]{0,8}") {
        let mut text = WHOLE.as_bytes().to_vec();
        let end = (cut + with.len()).min(text.len());
        text.splice(cut..end, with.bytes());
        if let Err(error) = Profile::parse(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
