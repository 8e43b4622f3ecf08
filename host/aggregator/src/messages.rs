//! Errors that stop a run before it starts, with their hints.

use plumbline_catalogue::{Catalogue, samples};
use plumbline_core::definition::LimitError;
use plumbline_core::{PluginName, Rights};
use plumbline_sandbox::{LoadError, ModuleFailure, OptionProblem};

use crate::{ModuleError, PlanError};

#[test]
fn every_error_is_in_the_catalogue() {
    let plugin = || "example".parse::<PluginName>().unwrap();
    let module = || ModuleError::Role("dir/module.wasm".into());
    let problem = OptionProblem {
        module: "junit".to_owned(),
        path: "plumbline.options.keep".to_owned(),
        what: "want string, but got number".to_owned(),
    };
    let mut all = Catalogue::default();
    all.add(
        samples!(PlanError {
            Module { plugin = plugin(), source = module() },
            Limit { plugin = plugin(), source = LimitError { limit: "memory", request: "2 GiB".into(), cap: "1 GiB".into() } },
            Options { plugin = plugin(), problems = vec![problem] }, Verdict { plugin = plugin(), path, why },
            Expectations { plugin = plugin(), module, source = Box::new(ModuleFailure::Refused("no".to_owned())) },
        }),
        PlanError::hint,
    );
    all.add(
        samples!(ModuleError {
            Read { path, source }, Load { path, source = LoadError::NoRole("example".to_owned()) },
            Unknown { role, name, known, unbuilt = None }, Role { 0 }, TooMany { 0 },
            NoCheck { file, unbuilt = None }, NotACheck { 0 },
            Rights { file, missing = Box::new(Rights { files: vec!["/etc/example".to_owned()], env: vec!["NAME".to_owned()], ..Rights::default() }) },
        }),
        ModuleError::hint,
    );
    insta::assert_snapshot!("messages", all.text());
}
