//! Every error of this crate, with its hint.

use plumbline_catalogue::{Catalogue, samples};

use crate::componentize::ComponentizeError;
use crate::failure::Unit;
use crate::{InspectError, LoadError, ModuleFailure, SandboxError};

#[test]
fn every_error_is_in_the_catalogue() {
    let hint = |hint: Option<&str>| hint.map(str::to_owned);
    let mut all = Catalogue::default();
    all.add(
        samples!(SandboxError { Setting { setting, value, min, max }, Engine { 0 }, Interface { 0 }, Ticker { 0 } }),
        |error| hint(error.hint()),
    );
    all.add(
        samples!(InspectError {
            Empty {}, CoreModule {}, NotWasm { 0 }, UnknownKind { version, layer }, Truncated { 0 }, Malformed { at, reason },
            TooMany { what, limit }, Foreign { 0 }, Metadata { 0 },
        }),
        |error| hint(error.hint()),
    );
    all.add(
        samples!(LoadError {
            TooLarge { module, size, limit }, Inspect { module, source = InspectError::Empty }, Refused { module, imports },
            Generation { module, found, host, newer }, NoRole { 0 }, TooMany { module, what, count, limit },
            Compile { module, reason }, CompileLimit { module, limit }, CodeChanged { 0 }, Link { module, reason },
        }),
        |error| hint(error.hint()),
    );
    all.add(
        samples!(ModuleFailure {
            Limit { module, limit = "memory", value, unit = Unit::Bytes }, Trap { module, trap, frames, hint },
            ContractViolation { module, rule, found }, Refused { 0 }, NoRole { module, role }, Host { 0 },
        }),
        |error| hint(error.hint()),
    );
    all.add(
        samples!(ComponentizeError {
            NotWasm { 0 }, TooLarge { size, limit }, Broken { 0 }, NoTypes {}, Program {}, World { name, known },
            Wit { place, reason }, Exports { missing, exports }, Imports { 0 }, Encode { 0 }, Metadata { 0 = InspectError::Empty },
        }),
        |error| hint(error.hint()),
    );
    insta::assert_snapshot!("messages", all.text());
}
