//! The paths of the protocol, read and written in one place so that both ends agree (docs/protocol.md, "Routes").

use http::Method;
use plumbline_core::{GLOBAL, NodeName, ResultKey};

use crate::percent;

/// The longest request path that is looked at, in bytes: three names of 253 characters, every one of them percent-encoded, fit twice.
pub const MAX_PATH_BYTES: usize = 4096;

/// What every path of the protocol begins with.
const PREFIX: [&str; 2] = ["api", "v1"];

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RouteKind {
    /// The one result of a plugin, from one node or for the whole cluster (docs/protocol.md, "Results").
    Results,
    /// How far the plugin is (docs/protocol.md, "Progress").
    Progress,
    /// A worker has started and can reach the aggregator (docs/protocol.md, "Hello and heartbeat").
    Hello,
    /// A worker is still there (docs/protocol.md, "Hello and heartbeat").
    Heartbeat,
    /// What a plugin has so far, asked for when its time is up (docs/protocol.md, "Partial results").
    Partial,
}

impl RouteKind {
    /// Every kind there is.
    pub const ALL: [Self; 5] = [Self::Results, Self::Progress, Self::Hello, Self::Heartbeat, Self::Partial];

    /// The segment that names the kind in a path.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Progress => "progress",
            Self::Hello => "hello",
            Self::Heartbeat => "heartbeat",
            Self::Partial => "partial",
        }
    }

    /// The one method that the routes of this kind take: what belongs into the header `Allow` of a 405 (RFC 9110, section 15.5.6).
    #[must_use]
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

/// Where a request goes: `/api/v1/KIND/global/PLUGIN` or `/api/v1/KIND/by-node/NODE/PLUGIN`.
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
    /// What the request is about.
    pub kind: RouteKind,
    /// Whose result, progress or sign of life it is.
    pub key: ResultKey,
}

/// Why a path is no route.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// There is nothing at this path: answered with 404. Names that are no names of plugins and nodes end here too.
    #[error("there is nothing at this path")]
    NotFound,
    /// The path holds empty segments, `.` or `..`: answered with 301 and this cleaned, percent-encoded path in `Location`.
    /// It always begins with exactly one `/`, so it cannot lead to another host.
    #[error("the path is not in its canonical form: use `{0}`")]
    NotCanonical(String),
}

impl Route {
    /// The route of `kind` for `key`.
    #[must_use]
    pub fn new(kind: RouteKind, key: ResultKey) -> Self {
        Self { kind, key }
    }

    /// Reads the raw path of a request, without its query: percent-decoded first, then split. Both spellings `by-node` and
    /// `by_node` are taken, and one slash at the end.
    ///
    /// # Errors
    ///
    /// [`RouteError`]; see its variants for the status code that each stands for.
    pub fn parse(raw_path: &str) -> Result<Self, RouteError> {
        if raw_path.len() > MAX_PATH_BYTES {
            return Err(RouteError::NotFound);
        }
        let path = percent::decode(raw_path.as_bytes()).ok_or(RouteError::NotFound)?;
        let relative = path.strip_prefix('/').ok_or(RouteError::NotFound)?;
        let cleaned = clean(&path);
        if cleaned != path {
            return Err(RouteError::NotCanonical(percent::encode(&cleaned, b"/")));
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

    /// Whether this route takes `method`. Anything else is answered with 405 and an empty body.
    #[must_use]
    pub fn allows(&self, method: &Method) -> bool {
        self.kind.method() == *method
    }

    /// The path as a client sends it. Names hold no character that would have to be encoded.
    #[must_use]
    pub fn path(&self) -> String {
        let (kind, plugin) = (self.kind.as_str(), &self.key.plugin);
        if self.key.node.is_global() {
            format!("/api/v1/{kind}/{GLOBAL}/{plugin}")
        } else {
            format!("/api/v1/{kind}/by-node/{node}/{plugin}", node = self.key.node)
        }
    }
}

/// `path` without empty segments, `.` and `..`; one slash at the end is kept.
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
                // The first slash makes it a path at all.
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
                // One redirect is enough.
                prop_assert!(!matches!(Route::parse(&location), Err(RouteError::NotCanonical(_))), "{}", location);
            }
            Err(RouteError::NotFound) => {}
        }
        Ok(())
    }
}
