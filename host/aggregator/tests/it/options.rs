//! Tests that options which a module rejects are reported before anything runs.

use plumbline_aggregator::{LimitPolicy, Modules, PlanError, prepare};
use plumbline_sandbox::{Sandbox, SandboxConfig};

use crate::harness::source;

fn planned(rest: &str) -> Result<Vec<String>, PlanError> {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let built_in = plumbline_bundle::built_in::load(&sandbox).unwrap();
    let modules = Modules::new(sandbox, built_in);
    prepare(&modules, &LimitPolicy::default(), source("p", "Job", rest)).map(|plugin| plugin.warnings())
}

#[test]
fn a_misspelt_option_is_named_before_the_run() {
    let with = |options: &str| planned(&format!("  result-format: junit\nplumbline:\n  options: {options}"));
    assert_eq!(with("{keep: [stdout]}").unwrap(), [""; 0]);
    assert_eq!(with("{}").unwrap(), [""; 0]);
    let message = with("{kepe: [stdout]}").unwrap_err().to_string();
    assert_eq!(
        message,
        "plugin `p`: invalid options: `plumbline.options.kepe`: is not an option (options: keep) (module `junit`)"
    );
    let message = with("{keep: [1]}").unwrap_err().to_string();
    assert!(message.contains("`plumbline.options.keep[0]`: want string, but got number"), "{message}");
}

#[test]
fn a_module_without_a_schema_takes_what_it_is_given() {
    let warnings = planned("  result-format: gojson\nplumbline:\n  options: {anything: 1}").unwrap();
    assert_eq!(warnings, [""; 0]);
}
