//! Every error in definitions and configurations.

use plumbline_catalogue::{Catalogue, samples};

use crate::config::ConfigError;
use crate::definition::DefinitionError;
use crate::duration::DurationError;
use crate::name::NameError;
use crate::schedule::CronError;
use crate::{Driver, PluginName, SelectorError};

#[test]
fn every_error_is_in_the_catalogue() {
    let plugin = || "example".parse::<PluginName>().unwrap();
    let mut all = Catalogue::default();
    all.add(
        samples!(DefinitionError {
            TooLarge { bytes }, NotUtf8 { at }, Yaml { 0 }, Empty {}, SeveralDocuments {}, Missing { 0 }, WrongType { path, expected, found },
            Twice { first, second }, Misspelled { path, meant },
            Name { 0 = NameError::Reserved("example".to_owned()) }, Driver { 0 = "Cron".parse::<Driver>().unwrap_err() },
            ConfigMapKey { 0 }, ConfigMapValue { key, format, cause }, ModuleName { path, name }, Invalid { path, why },
            Reruns { plugin = plugin(), other = plugin(), why }, Reserved { 0 }, DuplicatePlugin { 0 = plugin() },
        }),
        |_| None,
    );
    all.add(
        samples!(ConfigError {
            TooLarge { bytes }, Json { 0 }, WrongType { path, expected, found }, Twice { first, second },
            Value { path, cause }, ConflictingSince {},
        }),
        |_| None,
    );
    all.add(
        samples!(CronError { Fields { text, fields }, Part { text, part, field = "minute", min, max }, Zone { 0 }, Never { 0 } }),
        |_| None,
    );
    all.add(samples!(DurationError { Invalid { 0 }, NoUnit { 0 }, Negative { 0 }, TooLong { 0 } }), |_| None);
    all.add(samples!(SelectorError { Label { 0 = "example".into() }, Field { 0 = "example".into() } }), |_| None);
    insta::assert_snapshot!("messages", all.text());
}
