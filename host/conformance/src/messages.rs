//! Every error of lists and chains.

use plumbline_catalogue::{Catalogue, samples};
use plumbline_core::definition::DefinitionError;

use crate::chain::ChainError;
use crate::lists::ListError;

#[test]
fn every_error_is_in_the_catalogue() {
    let mut all = Catalogue::default();
    all.add(
        samples!(ChainError {
            Read { path, source }, TooLarge { 0 }, NotAList { path, why }, TooManyFailures { archive, count },
            TooManyFiles { judge, count }, TooManyBytes {}, TooLongNames { 0 },
            Evidence { judge, source = Box::new(DefinitionError::Empty) }, TooManyJudges { plugin, count },
        }),
        |_| None,
    );
    all.add(
        samples!(ListError {
            Unknown { version, place, known }, Version { 0 }, Read { place, error }, TooLarge { place, limit },
            TooMany { place, most }, NoText { 0 }, Empty { 0 }, Difference { place, line },
            Deltas { version, place, how, chain },
        }),
        |_| None,
    );
    insta::assert_snapshot!("messages", all.text());
}
