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
        samples!(SandboxError { Setting { setting, value, min, max }, Engine { reason }, Interface { reason }, Ticker { 0 } }),
        |error| hint(error.hint()),
    );
    all.add(
        samples!(InspectError {
            Empty {}, CoreModule {}, NotWasm { beginning }, UnknownKind { version, layer }, Truncated { at }, Malformed { at, reason },
            TooMany { what, limit }, Foreign { what }, Metadata { reason },
        }),
        |error| hint(error.hint()),
    );
    all.add(
        samples!(LoadError {
            TooLarge { module, size, limit }, Inspect { module, source = InspectError::Empty }, Refused { module, imports },
            Generation { module, found, host, newer }, NoRole { module }, TooMany { module, what, count, limit },
            Compile { module, reason }, CompileLimit { module, limit }, CodeChanged { module }, Link { module, reason },
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
            NotWasm { what }, TooLarge { size, limit }, Broken { reason }, NoTypes {}, Program {}, World { name, known },
            Wit { place, reason }, Exports { missing, exports }, Imports { imports }, Encode { reason }, Metadata { 0 = InspectError::Empty },
        }),
        |error| hint(error.hint()),
    );
    insta::assert_snapshot!("messages", all.text());
}
