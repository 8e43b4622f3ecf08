//! Every error of this crate.

use plumbline_catalogue::{Catalogue, samples};

use crate::otlp::{ExportError, SettingsError};
use crate::{ContextError, EndpointError};

#[test]
fn every_error_is_in_the_catalogue() {
    let mut all = Catalogue::default();
    let address = "127.0.0.1:9464".parse().unwrap();
    all.add(samples!(EndpointError { Bind { address = address, source } }), |_| None);
    all.add(vec![("ContextError", ContextError { shown: "00-zz".to_owned() })], |_| None);
    all.add(
        samples!(SettingsError {
            Endpoint { setting, url, why }, Protocol { 0 }, Headers { 0 }, Number { setting, value }, Attributes { 0 },
        }),
        SettingsError::hint,
    );
    all.add(
        samples!(ExportError { Client { 0 }, Encode { 0 }, Refused { url, why }, Rejected { url, count, why } }),
        |_| None,
    );
    insta::assert_snapshot!("messages", all.text());
}
