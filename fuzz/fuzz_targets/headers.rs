//! Fuzzes the parts of a request that an aggregator reads before authentication: path, headers,
//! small bodies.
#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use plumbline_core::ProgressUpdate;
use plumbline_phonehome::{
    Heartbeat, Hello, Route, RouteError, SafeFileName, content_disposition, disposition_file_name, is_archive,
};

fuzz_target!(|data: &[u8]| {
    let mut lines = data.splitn(3, |byte| *byte == b'\n');
    if let Some(path) = lines.next().and_then(|line| std::str::from_utf8(line).ok()) {
        route(path);
    }
    if let Some(header) = lines.next() {
        disposition(header);
        let _ = is_archive(Some(header));
    }
    if let Some(body) = lines.next() {
        let _ = (Hello::parse(body), Heartbeat::parse(body), ProgressUpdate::from_body(body));
    }
});

fn route(path: &str) {
    match Route::parse(path) {
        Ok(route) => assert_eq!(Route::parse(&route.path()), Ok(route)),
        Err(RouteError::NotCanonical(to)) => {
            assert!(to.starts_with('/') && !to.starts_with("//"), "`{to}` leads to another host");
            // Names have no `%`, so a canonical path stays canonical.
            assert!(!matches!(Route::parse(&to), Err(RouteError::NotCanonical(_))), "`{to}` leads on and on");
        }
        Err(RouteError::NotFound) => {}
    }
}

fn disposition(header: &[u8]) {
    let Ok(name) = disposition_file_name(Some(header)) else { return };
    let parts: Vec<Component<'_>> = Path::new(name.as_str()).components().collect();
    assert!(
        matches!(parts.as_slice(), [Component::Normal(part)] if *part == name.as_str()),
        "`{}` is no file name",
        name.as_str()
    );
    let written = content_disposition(&name);
    assert_eq!(disposition_file_name(Some(written.as_bytes())).as_ref().map(SafeFileName::as_str), Ok(name.as_str()));
}
