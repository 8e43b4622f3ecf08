//! Every error of reading archives.

use plumbline_catalogue::{Catalogue, samples};

use crate::extract::{ExtractError, MemberError};
use crate::finished::FinishedError;
use crate::member::{Layer, NameFault, SkipReason, StreamError};
use crate::pack::PackError;
use crate::results::ReadError;

#[test]
fn every_error_is_in_the_catalogue() {
    let mut all = Catalogue::default();
    all.add(
        samples!(ReadError {
            Open { 0, 1 }, Special { 0 }, Stream { path, source = StreamError::NotGzip }, Walk { 0, 1 },
            Hostile { path, member = "example".into(), why = NameFault::Parent }, NotResults { 0 }, Meta { member, reason }, Missing { 0 },
            TooLarge { member, bytes, limit }, File { 0, 1 }, Extract { 0, 1 = ExtractError::Stream(StreamError::NotGzip) },
        }),
        |_| None,
    );
    all.add(
        samples!(StreamError {
            Source { 0 }, NotGzip {}, NotTar { 0 }, Truncated { layer = Layer::Gzip, after }, Corrupt { layer = Layer::Tar, after, reason },
            TooManyEntries { 0 }, TooManyNameBytes { 0 }, TooManyBytes { 0 }, TooMuchMetadata {},
        }),
        |_| None,
    );
    all.add(
        samples!(ExtractError {
            Hostile { member = "example".into(), why = MemberError::Conflict }, Stream { 0 = StreamError::NotGzip }, Open { 0, 1 },
            Write { 0 = "example".into(), 1 }, NoSpace { member = "example".into(), entries, bytes, source },
        }),
        |_| None,
    );
    all.add(
        samples!(SkipReason {
            Symlink {}, HardLink {}, Device {}, Fifo {}, Socket {}, Sparse {}, Type { 0 = b'V' }, Other {}, Name { 0 = NameFault::Absolute },
            Vanished {}, Reserved {},
        }),
        |_| None,
    );
    all.add(
        samples!(FinishedError {
            Read { 0, 1 }, ReadArchive { 0, 1 }, TooMany { 0 }, Name { 0 = "example".into() }, Changing { 0 }, Resized { name, expected },
            Beyond { path, size, offset }, Write { 0, 1 }, WriteAll { 0 }, NoRun { 0 }, Pack { 0 = PackError::Cancelled },
        }),
        |_| None,
    );
    insta::assert_snapshot!("messages", all.text());
}
