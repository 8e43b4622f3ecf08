//! Every error of profiles, with its cause, hint and exit code.

use plumbline_catalogue::{Catalogue, samples};
use plumbline_core::definition::DefinitionError;

use super::{ApplyError, ListError, ProfileError, SettingsError, ValueError};

#[test]
fn every_error_is_in_the_catalogue() {
    let mut all = Catalogue::default();
    all.add_with_code(
        samples!(ProfileError {
            TooLarge { 0 }, NotUtf8 { 0 }, Yaml { 0 }, UnknownKey { key, line, meant = ": did you mean `env`?".to_owned() },
            Missing { key, line }, Invalid { path, why, line }, Name { line, source = "A".parse::<plumbline_core::PluginName>().unwrap_err() },
            OtherPlugin { profile, plugin }, NoFile { key, file },
        }),
        |_| true,
        |error| Some(error.hint().to_owned()),
    );
    all.add_with_code(
        samples!(SettingsError {
            UnknownOption { profile, name, near = Some("endpoint".to_owned()) }, UnknownMode { profile, name, near = None },
            Missing { profile, name, help }, Value { profile, name, source = ValueError::Bool }, Twice { 0 }, NeedsFile { 0 },
            SelectedTwice { 0 }, NoSelection { 0 }, Secret { 0 }, Version { 0 },
        }),
        |_| true,
        |error| Some(error.hint()),
    );
    all.add(
        samples!(ValueError {
            Bool {}, Integer {}, Duration { 0 = plumbline_core::duration::parse_duration("soon").unwrap_err() }, Url { 0 },
            Enum { known, meant = String::new() }, List { 0 }, Line {}, Empty {}, TooLarge { 0 },
        }),
        |_| None,
    );
    all.add_with_code(
        samples!(ApplyError { NotLocal { 0 }, Path { 0 }, LongName { 0 }, Shape { 0 }, Definition { 0 = DefinitionError::Empty } }),
        |_| true,
        |error| Some(error.hint().to_owned()),
    );
    all.add(
        samples!(ListError { TooLarge { 0 }, NotUtf8 {}, TooMany { 0 }, Name { 0 }, Difference { 0 }, Empty {} }),
        |_| None,
    );
    insta::assert_snapshot!("messages", all.text());
    assert!(all.without_hint().is_empty(), "{:?}", all.without_hint());
}
