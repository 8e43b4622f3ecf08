use super::*;
use crate::profile::read::tests::WHOLE;

fn profile() -> Profile {
    Profile::parse(WHOLE.as_bytes()).unwrap()
}

fn given(name: &str, value: &str) -> Given {
    Given { name: name.to_owned(), value: value.to_owned(), from_file: false }
}

fn from_file(name: &str, value: &str) -> Given {
    Given { from_file: true, ..given(name, value) }
}

#[test]
fn the_user_comes_before_the_mode_and_the_mode_before_defaults() {
    let profile = profile();
    let values = |mode: Option<&str>, more: &[Given]| {
        let given: Vec<Given> = more.iter().cloned().chain([given("endpoint", "x.sock")]).collect();
        let settings = Settings::choose(&profile, mode, &given).unwrap();
        settings.values().map(|(option, value)| format!("{}={value}", option.name)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(values(None, &[]), "spec=1.1 endpoint=x.sock size=10 snapshots=true");
    assert_eq!(values(Some("quick"), &[]), "spec=1.1 endpoint=x.sock size=1 snapshots=false");
    assert_eq!(values(Some("quick"), &[given("size", "3")]), "spec=1.1 endpoint=x.sock size=3 snapshots=false");
    let lists = [given("features", "a,b"), given("features", "c")];
    assert!(values(None, &lists).ends_with("features=a,b,c"));
    assert!(values(None, &[from_file("password", "s3cret\n")]).ends_with("password=s3cret"));
    assert!(values(None, &[from_file("parameters", "a: 1\n")]).ends_with("parameters=a: 1\n"));
}

#[test]
fn files_of_a_version_have_it_in_their_names() {
    let profile = profile();
    let chosen = |mode| Settings::choose(&profile, mode, &[given("endpoint", "x"), given("spec", "1.0")]).unwrap();
    assert_eq!(chosen(None).required(), Some("required/{version}.txt"));
    assert_eq!(chosen(Some("quick")).required(), None);
    assert_eq!(chosen(None).of_version("tests-{version}.txt"), "tests-1.0.txt");
}

#[test]
fn what_does_not_fit_is_an_error_with_the_nearest_name() {
    let profile = profile();
    let error_of = |mode: Option<&str>, more: &[Given]| {
        let given: Vec<Given> = more.iter().cloned().chain([given("endpoint", "x.sock")]).collect();
        Settings::choose(&profile, mode, &given).unwrap_err().to_string()
    };
    let unknown = error_of(None, &[given("endpont", "x")]);
    assert_eq!(unknown, "profile `storage` has no option `endpont`: did you mean `endpoint`?");
    assert_eq!(error_of(Some("ful"), &[]), "profile `storage` has no mode `ful`: did you mean `full`?");
    assert_eq!(error_of(None, &[given("size", "big")]), "invalid value of option `size`: expected a whole number");
    assert_eq!(error_of(None, &[given("size", "1"), given("size", "2")]), "option `size` has several values");
    assert_eq!(error_of(None, &[given("parameters", "a: 1")]), "option `parameters` takes the content of a file");
    assert!(error_of(None, &[given("password", "s3cret")]).starts_with("option `password` is a secret"));
    let missing = Settings::choose(&profile, None, &[]).unwrap_err().to_string();
    assert_eq!(missing, "option `endpoint` of profile `storage` has no value: Socket of the driver");
}

#[test]
fn an_expression_for_failed_tests_replaces_every_other_selection() {
    let profile = profile();
    let own = [given("endpoint", "x")];
    let mut settings = Settings::choose(&profile, None, &own).unwrap();
    settings.select_failed("a|b".to_owned()).unwrap();
    assert_eq!(
        (settings.value("focus"), settings.value("skip"), settings.value("snapshots")),
        (Some("a|b"), Some(""), Some(""))
    );
    assert!(settings.suite_run().rerun);
    let both = [given("endpoint", "x"), given("skip", "c")];
    let error = Settings::choose(&profile, None, &both).unwrap().select_failed("a".to_owned()).unwrap_err();
    assert_eq!(error, SettingsError::SelectedTwice("skip".to_owned()));
    let plain = Profile { selection: None, ..profile.clone() };
    let error = Settings::choose(&plain, None, &own).unwrap().select_failed("a".to_owned()).unwrap_err();
    assert_eq!(error, SettingsError::NoSelection("storage".to_owned()));
}

#[test]
fn changes_of_a_definition_leave_out_the_default_mode() {
    let profile = profile();
    let own = [given("endpoint", "x"), given("skip", "a")];
    let names = |mode| {
        let settings = Settings::choose_changes(&profile, mode, &own).unwrap();
        (settings.mode().map(|mode| mode.name.clone()), settings.value("snapshots").map(str::to_owned))
    };
    assert_eq!(names(None), (None, Some("false".to_owned())));
    assert_eq!(names(Some("full")), (Some("full".to_owned()), Some("true".to_owned())));
}

#[test]
fn the_version_of_the_cluster_is_part_of_file_names_and_must_be_a_version() {
    let text = "name: a\ntitle: A\nversion: {crd: as.b.org, annotation: v}\ntests: 'tests-{version}.txt'\n";
    let profile = Profile::parse(text.as_bytes()).unwrap();
    let mut settings = Settings::choose(&profile, None, &[]).unwrap();
    assert_eq!(settings.version(), "");
    settings.set_cluster_version("v1.6.1").unwrap();
    assert_eq!(settings.version(), "v1.6.1");
    assert_eq!(settings.of_version("tests-{version}.txt"), "tests-v1.6.1.txt");
    for wrong in ["../x", "", "v1 6", &"1".repeat(64)] {
        let error = settings.set_cluster_version(wrong).unwrap_err();
        assert!(error.to_string().contains("is not a version"), "{error}");
    }
    assert_eq!(settings.version(), "v1.6.1");
}

#[test]
fn the_value_of_a_variable_is_known() {
    let profile = profile();
    let settings = Settings::choose(&profile, None, &[given("endpoint", "x")]).unwrap();
    assert_eq!((settings.variable("SPEC"), settings.variable("PORTAL")), (Some("1.1"), None));
}
