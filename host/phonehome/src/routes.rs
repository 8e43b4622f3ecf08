//! The paths of the protocol (docs/protocol.md, "Routes").

use http::Method;
use percent_encoding::utf8_percent_encode;
use plumbline_core::{GLOBAL, NodeName, ResultKey};

use crate::percent::{self, IN_PATH};

/// The maximum length of a request path in bytes: twice that of three percent-encoded names.
pub const MAX_PATH_BYTES: usize = 4096;

/// The prefix of every path of the protocol.
const PREFIX: [&str; 2] = ["api", "v1"];

/// The subject of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteKind {
    /// The result of a plugin, from one node or for the whole cluster (docs/protocol.md,
    /// "Results").
    Results,
    /// The progress of a plugin (docs/protocol.md, "Progress").
    Progress,
    /// A worker has started and reached the aggregator (docs/protocol.md, "Hello and heartbeat").
    Hello,
    /// A worker is alive (docs/protocol.md, "Hello and heartbeat").
    Heartbeat,
    /// The partial result of a plugin, requested at its timeout (docs/protocol.md, "Partial
    /// results").
    Partial,
}

impl RouteKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Results, Self::Progress, Self::Hello, Self::Heartbeat, Self::Partial];

    /// Returns the path segment of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Progress => "progress",
            Self::Hello => "hello",
            Self::Heartbeat => "heartbeat",
            Self::Partial => "partial",
        }
    }

    /// Returns the only method that routes of this kind accept, for the header `Allow` of a 405
    /// response (RFC 9110, section 15.5.6).
    pub fn method(self) -> Method {
        match self {
            Self::Results | Self::Partial => Method::PUT,
            Self::Progress | Self::Hello | Self::Heartbeat => Method::POST,
        }
    }

    fn from_segment(segment: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == segment)
    }
}

/// The target of a request: `/api/v1/KIND/global/PLUGIN` or `/api/v1/KIND/by-node/NODE/PLUGIN`.
///
/// ```
/// use plumbline_phonehome::{Method, Route, RouteKind};
///
/// let route = Route::parse("/api/v1/results/by_node/worker-1/systemd-logs/")?;
/// assert_eq!(route.kind, RouteKind::Results);
/// assert_eq!(route.key.to_string(), "systemd-logs/worker-1");
/// assert_eq!(route.path(), "/api/v1/results/by-node/worker-1/systemd-logs");
/// assert!(route.allows(&Method::PUT));
/// # Ok::<(), plumbline_phonehome::RouteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Route {
    /// The subject of the request.
    pub kind: RouteKind,
    /// The result to which the request belongs.
    pub key: ResultKey,
}

/// Error for a path that is not a route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// There is nothing at this path. Respond with 404. Invalid names of plugins and nodes cause
    /// this error too.
    #[error("unknown path")]
    NotFound,
    /// The path contains empty segments, `.` or `..`. Respond with 301 and this path in `Location`,
    /// which cannot lead to another host.
    #[error("the path is not in its canonical form: use `{0}`")]
    NotCanonical(String),
}

impl Route {
    /// Creates the route of `kind` for `key`.
    #[must_use]
    pub fn new(kind: RouteKind, key: ResultKey) -> Self {
        Self { kind, key }
    }

    /// Parses the raw path of a request without its query, which is percent-decoded before it is
    /// split. Both `by-node` and `by_node` are accepted, and one trailing slash.
    ///
    /// # Errors
    /// Returns a [`RouteError`], whose variants document the status code of the response.
    pub fn parse(raw_path: &str) -> Result<Self, RouteError> {
        if raw_path.len() > MAX_PATH_BYTES {
            return Err(RouteError::NotFound);
        }
        let path = percent::decode(raw_path).ok_or(RouteError::NotFound)?;
        let relative = path.strip_prefix('/').ok_or(RouteError::NotFound)?;
        let cleaned = clean(&path);
        if cleaned != path {
            return Err(RouteError::NotCanonical(utf8_percent_encode(&cleaned, IN_PATH).to_string()));
        }

        let segments: Vec<&str> = relative.strip_suffix('/').unwrap_or(relative).split('/').collect();
        let (kind, node, plugin) = match segments.as_slice() {
            [api, version, kind, scope, plugin] if [*api, *version] == PREFIX && *scope == GLOBAL => {
                (kind, NodeName::global(), plugin)
            }
            [api, version, kind, scope, node, plugin]
                if [*api, *version] == PREFIX && matches!(*scope, "by-node" | "by_node") =>
            {
                (kind, node.parse().map_err(|_| RouteError::NotFound)?, plugin)
            }
            _ => return Err(RouteError::NotFound),
        };
        let kind = RouteKind::from_segment(kind).ok_or(RouteError::NotFound)?;
        let plugin = plugin.parse().map_err(|_| RouteError::NotFound)?;
        Ok(Self { kind, key: ResultKey::new(plugin, node) })
    }

    /// Returns whether this route accepts `method`. For other methods, respond with 405 and an
    /// empty body.
    pub fn allows(&self, method: &Method) -> bool {
        self.kind.method() == *method
    }

    /// Returns the path for a client. Names have no characters that need encoding.
    pub fn path(&self) -> String {
        let (kind, plugin) = (self.kind.as_str(), &self.key.plugin);
        if self.key.node.is_global() {
            format!("/api/v1/{kind}/{GLOBAL}/{plugin}")
        } else {
            format!("/api/v1/{kind}/by-node/{node}/{plugin}", node = self.key.node)
        }
    }
}

/// Returns `path` without empty segments, `.` and `..`. One trailing slash is kept.
fn clean(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            name => kept.push(name),
        }
    }
    let mut cleaned = String::with_capacity(path.len());
    for segment in &kept {
        cleaned.push('/');
        cleaned.push_str(segment);
    }
    if cleaned.is_empty() || path.ends_with('/') {
        cleaned.push('/');
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn not_canonical(path: &str) -> RouteError {
        RouteError::NotCanonical(path.to_owned())
    }

    #[test]
    fn both_scopes_and_both_spellings_are_read() {
        for kind in RouteKind::ALL {
            let global = Route::parse(&format!("/api/v1/{}/global/e2e", kind.as_str())).unwrap();
            assert_eq!((global.kind, global.key.to_string().as_str()), (kind, "e2e/global"));
            for spelling in ["by-node", "by_node"] {
                for end in ["", "/"] {
                    let path = format!("/api/v1/{}/{spelling}/worker-1.local/e2e{end}", kind.as_str());
                    let route = Route::parse(&path).unwrap();
                    assert_eq!((route.kind, route.key.to_string().as_str()), (kind, "e2e/worker-1.local"));
                }
            }
        }
    }

    #[test]
    fn by_node_global_is_the_cluster_wide_result() {
        assert_eq!(
            Route::parse("/api/v1/results/by-node/global/e2e"),
            Route::parse("/api/v1/results/global/e2e"),
            "as every client in the field has it"
        );
    }

    #[test]
    fn each_kind_takes_one_method() {
        for (path, method) in [
            ("/api/v1/results/global/e2e", Method::PUT),
            ("/api/v1/progress/global/e2e", Method::POST),
            ("/api/v1/hello/global/e2e", Method::POST),
            ("/api/v1/heartbeat/global/e2e", Method::POST),
        ] {
            let route = Route::parse(path).unwrap();
            for other in [Method::GET, Method::HEAD, Method::PUT, Method::POST, Method::DELETE, Method::OPTIONS] {
                assert_eq!(route.allows(&other), other == method, "{other} {path}");
            }
        }
    }

    #[test]
    fn a_path_is_decoded_before_it_is_read() {
        let route = Route::parse("/api/v1/results/by%2Dnode/worker%2d1/e2e").unwrap();
        assert_eq!(route.key.to_string(), "e2e/worker-1");
        assert_eq!(
            Route::parse("/api/v1/results/global%2Fe2e").unwrap().key.to_string(),
            "e2e/global",
            "an encoded slash is a slash"
        );
    }

    #[test]
    fn paths_that_are_not_canonical_are_sent_to_their_clean_form() {
        for (path, clean) in [
            ("/api//v1/results/global/e2e", "/api/v1/results/global/e2e"),
            ("/api/v1/./results/global/e2e", "/api/v1/results/global/e2e"),
            ("/api/v1/progress/../results/global/e2e/", "/api/v1/results/global/e2e/"),
            ("/api/v1/results/global/e2e//", "/api/v1/results/global/e2e/"),
            ("/api/v1/results/global/%2e%2E/e2e", "/api/v1/results/e2e"),
            ("/../../..", "/"),
            ("//elsewhere.example/x", "/elsewhere.example/x"),
            ("/%2F%2Felsewhere.example", "/elsewhere.example"),
            ("/\\elsewhere.example//a b", "/%5Celsewhere.example/a%20b"),
            ("/a//%0d%0aSet-Cookie:x", "/a/%0D%0ASet-Cookie%3Ax"),
        ] {
            assert_eq!(Route::parse(path), Err(not_canonical(clean)), "{path}");
        }
    }

    #[test]
    fn everything_else_is_not_there() {
        for path in [
            "",
            "/",
            "*",
            "api/v1/results/global/e2e",
            "/api/v1/results/global",
            "/api/v1/results/global/",
            "/api/v1/results/by-node/e2e",
            "/api/v1/results/by-node/worker-1/e2e/more",
            "/api/v2/results/global/e2e",
            "/api/v1/secrets/global/e2e",
            "/api/v1/results/Global/e2e",
            "/api/v1/results/global/E2E",
            "/api/v1/results/global/plumbline",
            "/api/v1/results/global/e2e%",
            "/api/v1/results/global/e2e%00",
            "/api/v1/results/global/%ff",
            "/api/v1/results/by-node/worker_1/e2e",
            "/api/v1/results/by-node/-/e2e",
        ] {
            assert_eq!(Route::parse(path), Err(RouteError::NotFound), "{path}");
        }
        let long = format!("/api/v1/results/global/{}", "a".repeat(MAX_PATH_BYTES));
        assert_eq!(Route::parse(&long), Err(RouteError::NotFound));
    }

    fn name() -> impl Strategy<Value = String> {
        "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?){0,3}"
            .prop_filter("reserved", |name| name != "sonobuoy" && name != "plumbline")
    }

    proptest! {
        #[test]
        fn a_written_path_reads_back(kind in 0_usize..4, plugin in name(), node in name()) {
            let kind = RouteKind::ALL.into_iter().nth(kind).unwrap();
            let route = Route::new(kind, ResultKey::new(plugin.parse().unwrap(), node.parse().unwrap()));
            prop_assert_eq!(Route::parse(&route.path()), Ok(route));
        }

        #[test]
        fn it_reads_the_same_however_much_of_it_is_encoded(
            plugin in name(), node in name(), encoded in proptest::collection::vec(any::<bool>(), 600), upper in any::<bool>(),
        ) {
            let route = Route::new(RouteKind::Results, ResultKey::new(plugin.parse().unwrap(), node.parse().unwrap()));
            let path: String = route.path().bytes().zip(encoded).enumerate().map(|(at, (byte, encode))| match (encode, upper) {
                // Without the first slash, it would not be a path.
                (true, true) if at > 0 => format!("%{byte:02X}"),
                (true, false) if at > 0 => format!("%{byte:02x}"),
                _ => char::from(byte).to_string(),
            }).collect();
            prop_assert_eq!(Route::parse(&path), Ok(route));
        }

        #[test]
        fn empty_and_dotted_segments_anywhere_lead_to_the_clean_path(
            plugin in name(), at in 0_usize..5, extra in prop_oneof![Just(""), Just("."), Just("x/.."), Just("%2e"), Just("x/%2E.")],
        ) {
            let route = Route::new(RouteKind::Results, ResultKey::global(plugin.parse().unwrap()));
            let clean = route.path();
            let mut segments: Vec<&str> = clean.split('/').skip(1).collect();
            segments.insert(at, extra);
            prop_assert_eq!(Route::parse(&format!("/{}", segments.join("/"))), Err(not_canonical(&clean)));
        }

        #[test]
        fn any_text_is_answered_and_redirects_lead_to_a_canonical_path_here(path in ".{0,200}") {
            check(&path)?;
        }

        #[test]
        fn so_is_any_text_that_looks_like_a_route(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("api"), Just("v1"), Just("results"), Just("global"), Just("by_node"), Just("e2e"), Just(".."), Just("."),
                    Just(""), Just("%2e%2e"), Just("%2f"), Just("%"), Just("\\"), Just("é"), Just("%00"),
                ],
                0..9,
            )
        ) {
            check(&format!("/{}", parts.join("/")))?;
        }
    }

    fn check(path: &str) -> Result<(), TestCaseError> {
        match Route::parse(path) {
            Ok(route) => {
                prop_assert_eq!(Route::parse(&route.path()), Ok(route));
            }
            Err(RouteError::NotCanonical(location)) => {
                prop_assert!(location.starts_with('/') && !location.starts_with("//"), "{}", location);
                prop_assert!(http::HeaderValue::from_str(&location).is_ok());
                // A second redirect is never necessary.
                prop_assert!(!matches!(Route::parse(&location), Err(RouteError::NotCanonical(_))), "{}", location);
            }
            Err(RouteError::NotFound) => {}
        }
        Ok(())
    }
}
