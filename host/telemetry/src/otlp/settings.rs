//! Where telemetry goes: the variables that OpenTelemetry defines for exporters.

use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use plumbline_core::text::excerpt;
use reqwest::Url;

const TIMEOUT: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_secs(60);
const MIN_INTERVAL: Duration = Duration::from_secs(1);
const MAX_PAIRS: usize = 64;
/// The number of characters of an invalid value in a message.
const SHOWN: usize = 100;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";

/// Where and how telemetry is exported.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The URL for spans. `None` if they are not exported.
    pub traces: Option<Url>,
    /// The URL for metrics. `None` if they are not exported.
    pub metrics: Option<Url>,
    /// Headers of every request, which may be credentials.
    pub headers: HeaderMap,
    /// Timeout of one request.
    pub timeout: Duration,
    /// Interval between exports of metrics.
    pub interval: Duration,
    /// Attributes of the resource: what the telemetry is about.
    pub resource: Vec<(String, String)>,
}

/// Error for an invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The endpoint is not a URL for HTTP.
    #[error("invalid OTLP endpoint `{url}` ({setting}): {why}")]
    Endpoint {
        /// The variable or option.
        setting: String,
        /// The value, without credentials.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The protocol is not OTLP over HTTP.
    #[error("unknown OTLP protocol `{0}`")]
    Protocol(String),
    /// A header is invalid. Its value is not repeated, because it may be a credential.
    #[error("invalid header `{0}` in `OTEL_EXPORTER_OTLP_HEADERS`")]
    Headers(String),
    /// A number is invalid.
    #[error("invalid `{setting}`: `{value}` is not a number of milliseconds")]
    Number {
        /// The variable.
        setting: String,
        /// The value.
        value: String,
    },
    /// An attribute is invalid.
    #[error("invalid attribute `{0}` in `OTEL_RESOURCE_ATTRIBUTES`")]
    Attributes(String),
}

impl SettingsError {
    /// Returns a hint with the fix.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Endpoint { .. } => "write the URL of a collector, such as `http://collector:4318`",
            Self::Protocol(_) => {
                "choose `http/json` or `http/protobuf`; both send JSON over HTTP, usually to port 4318"
            }
            Self::Headers(_) | Self::Attributes(_) => "write `KEY=VALUE,KEY=VALUE`, percent-encoded where needed",
            Self::Number { .. } => "write a number, such as `10000`",
        };
        Some(hint.to_owned())
    }
}

type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Settings {
    /// Reads the settings from variables. A given `endpoint` overrides that of the variables, and
    /// also enables the export. `None` if there is no endpoint, or everything is disabled.
    ///
    /// # Errors
    /// Returns a [`SettingsError`] if a value is invalid. Values are ignored if nothing is exported.
    pub fn from_variables(
        endpoint: Option<&str>,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, SettingsError> {
        let lookup = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let disabled = lookup("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if disabled && endpoint.is_none() {
            return Ok(None);
        }
        let url = |signal: &str| url(&lookup, endpoint, signal);
        let (traces, metrics) = (url("traces")?, url("metrics")?);
        if traces.is_none() && metrics.is_none() {
            return Ok(None);
        }
        // The default of the specification is protocol buffers. Receivers read both encodings.
        if let Some(other) = lookup(PROTOCOL).filter(|it| !["http/json", "http/protobuf"].contains(&it.as_str())) {
            return Err(SettingsError::Protocol(excerpt(&other, SHOWN)));
        }
        let timeout = millis(&lookup, "OTEL_EXPORTER_OTLP_TIMEOUT")?.filter(|timeout| !timeout.is_zero());
        let interval = millis(&lookup, "OTEL_METRIC_EXPORT_INTERVAL")?;
        Ok(Some(Self {
            traces,
            metrics,
            headers: headers(&lookup)?,
            timeout: timeout.unwrap_or(TIMEOUT),
            interval: interval.unwrap_or(INTERVAL).max(MIN_INTERVAL),
            resource: resource(&lookup)?,
        }))
    }
}

/// Returns the URL of a signal, `traces` or `metrics`: that of the signal as it is, or that for all
/// signals with the path of the signal.
fn url(lookup: Lookup<'_>, endpoint: Option<&str>, signal: &str) -> Result<Option<Url>, SettingsError> {
    let upper = signal.to_uppercase();
    if lookup(&format!("OTEL_{upper}_EXPORTER")).is_some_and(|exporter| exporter == "none") {
        return Ok(None);
    }
    let own = format!("OTEL_EXPORTER_OTLP_{upper}_ENDPOINT");
    let (setting, text, is_base) = match (endpoint, lookup(&own), lookup(ENDPOINT)) {
        (Some(given), ..) => ("--otlp-endpoint", given.to_owned(), true),
        (None, Some(text), _) => (own.as_str(), text, false),
        (None, None, Some(text)) => (ENDPOINT, text, true),
        (None, None, None) => return Ok(None),
    };
    let wrong = |why: &str| {
        // A password may have these characters, too, and so may a token in the query. What is shown is after
        // the credentials and before the query, wherever these end.
        let (start, query) = text.split_once('?').unwrap_or((text.as_str(), ""));
        let shown = start.rsplit_once('@').map_or(start, |(_, rest)| rest);
        let shown = if query.contains('@') { "…" } else { shown };
        let (setting, url, why) = (setting.to_owned(), excerpt(shown, SHOWN), why.to_owned());
        SettingsError::Endpoint { setting, url, why }
    };
    let mut url = Url::parse(&text).map_err(|error| wrong(&error.to_string()))?;
    if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none() {
        return Err(wrong("it is not a URL for HTTP"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("credentials belong in `OTEL_EXPORTER_OTLP_HEADERS`"));
    }
    if is_base {
        let path = format!("{}/v1/{signal}", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Ok(Some(url))
}

fn millis(lookup: Lookup<'_>, setting: &str) -> Result<Option<Duration>, SettingsError> {
    let read = |value: String| {
        let wrong = || SettingsError::Number { setting: setting.to_owned(), value: excerpt(&value, SHOWN) };
        value.parse().map(Duration::from_millis).map_err(|_| wrong())
    };
    lookup(setting).map(read).transpose()
}

/// Splits `KEY=VALUE,KEY=VALUE` with percent-encoded values. Returns the key of the first invalid
/// pair as the error.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &str| {
        let shown = || excerpt(text.split('=').next().unwrap_or_default().trim(), SHOWN);
        let (key, value) = text.split_once('=').ok_or_else(shown)?;
        let value = percent_decode_str(value.trim()).decode_utf8().map_err(|_| shown())?;
        let key = key.trim();
        if key.is_empty() { Err(shown()) } else { Ok((key.to_owned(), value.into_owned())) }
    };
    text.split(',').map(str::trim).filter(|text| !text.is_empty()).take(MAX_PAIRS).map(pair).collect()
}

fn headers(lookup: Lookup<'_>) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    let text = lookup("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
    for (key, value) in pairs(&text).map_err(SettingsError::Headers)? {
        let wrong = || SettingsError::Headers(excerpt(&key, SHOWN));
        let name = HeaderName::from_bytes(key.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

fn resource(lookup: Lookup<'_>) -> Result<Vec<(String, String)>, SettingsError> {
    let mut attributes =
        pairs(&lookup("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default()).map_err(SettingsError::Attributes)?;
    if let Some(name) = lookup("OTEL_SERVICE_NAME") {
        attributes.retain(|(key, _)| key != "service.name");
        attributes.push(("service.name".to_owned(), name));
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(endpoint: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Settings>, SettingsError> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Settings::from_variables(endpoint, find)
    }

    #[test]
    fn nothing_is_exported_without_an_endpoint() {
        for variables in [
            &[][..],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"), ("OTEL_SDK_DISABLED", "true")],
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"),
                ("OTEL_TRACES_EXPORTER", "none"),
                ("OTEL_METRICS_EXPORTER", "none"),
            ],
            // Invalid, but without effect.
            &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
        ] {
            assert_eq!(of(None, variables), Ok(None), "{variables:?}");
        }
    }

    #[test]
    fn each_signal_has_its_url() {
        let urls = |endpoint, variables: &[(&str, &str)]| {
            let settings = of(endpoint, variables).unwrap().unwrap();
            [settings.traces, settings.metrics].map(|url| url.map(String::from).unwrap_or_default())
        };
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");
        assert_eq!(urls(None, &[base]), ["http://collector:4318/v1/traces", "http://collector:4318/v1/metrics"]);
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example/otlp?tenant=a");
        assert_eq!(urls(None, &[base, own]), [own.1, "http://collector:4318/v1/metrics"]);
        assert_eq!(urls(Some("https://h/x"), &[base, own]), ["https://h/x/v1/traces", "https://h/x/v1/metrics"]);
        assert_eq!(urls(None, &[base, ("OTEL_METRICS_EXPORTER", "none")]), ["http://collector:4318/v1/traces", ""]);
    }

    #[test]
    fn headers_times_and_attributes() {
        let settings = of(
            Some("http://c"),
            &[
                ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x-tenant = 1"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
                ("OTEL_METRIC_EXPORT_INTERVAL", "5"),
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=x,team=infra"),
                ("OTEL_SERVICE_NAME", "audits"),
            ],
        );
        let settings = settings.unwrap().unwrap();
        assert_eq!(settings.headers["api-key"], "a b");
        assert_eq!(settings.headers["x-tenant"], "1");
        assert!(!format!("{settings:?}").contains("a b"), "headers are secrets");
        assert_eq!((settings.timeout, settings.interval), (Duration::from_millis(2500), MIN_INTERVAL));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(settings.resource, [pair("team", "infra"), pair("service.name", "audits")]);
    }

    #[test]
    fn invalid_values_have_errors_without_secrets() {
        let wrong = |endpoint, name: &str, value: &str| of(Some(endpoint), &[(name, value)]).unwrap_err().to_string();
        assert!(wrong("ftp://h", "", "").contains("not a URL for HTTP"));
        assert!(wrong("collector:4318", "", "").contains("not a URL for HTTP"));
        let secret = wrong("http://me:secret@h", "", "");
        assert!(secret.contains("OTEL_EXPORTER_OTLP_HEADERS") && !secret.contains("secret"), "{secret}");
        assert!(wrong("http://h", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").contains("`grpc`"));
        for text in
            ["http://me:a@secret@h", "ftp://h/x?token=secret", "ftp://h/x?user=a@b&token=secret", "http://me:secret?@h"]
        {
            let message = wrong(text, "", "");
            assert!(!message.contains("secret"), "{message}");
        }
        let secret = wrong("http://h", "OTEL_EXPORTER_OTLP_HEADERS", "key=secret\u{1}");
        assert!(secret.contains("`key`") && !secret.contains("secret"), "{secret}");
        assert!(wrong("http://h", "OTEL_EXPORTER_OTLP_TIMEOUT", "10s").contains("`10s`"));
        assert!(wrong("http://h", "OTEL_RESOURCE_ATTRIBUTES", "team").contains("`team`"));
    }
}
