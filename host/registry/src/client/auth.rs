//! Authentication: credentials for a registry, and the tokens obtained with them.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;
use tokio::sync::{Mutex, watch};

use super::http::{self, Http};
use crate::challenge::{self, Challenge};
use crate::credentials::{Credentials, Secret};
use crate::error::Cause;
use crate::limits::MAX_TOKEN_BYTES;
use crate::reference::Reference;
use crate::settings::TokenServers;

/// Client ID of this program at token servers.
const CLIENT_ID: &str = "plumbline";

/// Registry, repository and right that a token is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) registry: String,
    repository: String,
    push: bool,
}

impl Scope {
    pub(super) fn new(reference: &Reference, push: bool) -> Self {
        Self { registry: reference.registry().into(), repository: reference.repository().into(), push }
    }
}

/// Cache of credentials and authorization headers. Each is requested once per registry, repository
/// and access right.
#[derive(Debug)]
pub(super) struct Auth {
    token_servers: TokenServers,
    headers: Mutex<HashMap<Scope, HeaderValue>>,
    credentials: Mutex<HashMap<(String, String), Option<Credentials>>>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

impl Auth {
    pub(super) fn new(token_servers: TokenServers) -> Self {
        Self { token_servers, headers: Mutex::default(), credentials: Mutex::default() }
    }

    /// Returns the authorization header for this scope, if the registry has asked for one before.
    pub(super) async fn header(&self, scope: &Scope) -> Option<HeaderValue> {
        self.headers.lock().await.get(scope).cloned()
    }

    /// Handles a 401: obtains a new authorization header, with which the request is sent again.
    pub(super) async fn renew(&self, http: &Http, rejected: &Response, scope: &Scope) -> Result<(), Cause> {
        let credentials = self.credentials(http, scope).await?;
        let value = match (challenge::best(rejected.headers()), credentials) {
            (Some(Challenge::Bearer { realm, service }), credentials) => {
                let token = self.token(http, &realm, service.as_deref(), credentials.as_ref(), scope).await?;
                format!("Bearer {token}")
            }
            (Some(Challenge::Basic), Some(Credentials { secret: Secret::Password(user, password), .. })) => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
            }
            (_, credentials) => return Err(unauthorized(credentials.as_ref(), String::new())),
        };
        let mut value =
            HeaderValue::try_from(value).map_err(|_| Cause::Malformed("the token has invalid characters".into()))?;
        value.set_sensitive(true);
        self.headers.lock().await.insert(scope.clone(), value);
        Ok(())
    }

    /// Returns the error for a request that was rejected again with new credentials.
    pub(super) async fn rejected(&self, http: &Http, rejected: Response, scope: &Scope) -> Cause {
        self.headers.lock().await.remove(scope);
        match self.credentials(http, scope).await {
            Ok(credentials) => unauthorized(credentials.as_ref(), http.message(rejected).await),
            Err(cause) => cause,
        }
    }

    /// Returns the credentials for a scope. They are cached, because a credential helper may prompt
    /// the user every time.
    async fn credentials(&self, http: &Http, scope: &Scope) -> Result<Option<Credentials>, Cause> {
        let key = (scope.registry.clone(), scope.repository.clone());
        let mut known = self.credentials.lock().await;
        if let Some(found) = known.get(&key) {
            return Ok(found.clone());
        }
        let found = http.settings.credentials.find(&scope.registry, &scope.repository).await?;
        known.insert(key, found.clone());
        Ok(found)
    }

    /// Requests a token for a scope from the token server that the registry specifies
    /// (distribution's token specification; OAuth 2 for identity tokens).
    async fn token(
        &self,
        http: &Http,
        realm: &str,
        service: Option<&str>,
        credentials: Option<&Credentials>,
        scope: &Scope,
    ) -> Result<String, Cause> {
        let mut url: Url =
            realm.parse().map_err(|_| Cause::Malformed("the registry's token server URL is invalid".into()))?;
        let client = http.client(&url).await?;
        if credentials.is_some() {
            self.check_token_server(http, &url, &scope.registry)?;
        }
        let right = format!("repository:{}:{}", scope.repository, if scope.push { "pull,push" } else { "pull" });
        let fields = [("scope", right.as_str()), ("client_id", CLIENT_ID)].into_iter();
        let secret = credentials.map(|credentials| &credentials.secret);
        let request = if let Some(Secret::Identity(refresh)) = secret {
            let service = ("service", service.unwrap_or_default());
            let form = [("grant_type", "refresh_token"), service, ("refresh_token", refresh.as_str())];
            let form = Url::parse_with_params("http://form/", fields.chain(form));
            let form = form.map_err(|error| Cause::Malformed(error.to_string()))?;
            let body = form.query().unwrap_or_default().to_owned();
            client.post(url.clone()).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
        } else {
            url.query_pairs_mut().extend_pairs(service.map(|service| ("service", service))).extend_pairs(fields);
            match secret {
                Some(Secret::Password(user, password)) => client.get(url.clone()).basic_auth(user, Some(password)),
                _ => client.get(url.clone()),
            }
        };
        let request = request.build().map_err(|error| http::cause(&error))?;
        let response = http::send(&http.settings.patience, &url, || async {
            let again = request.try_clone();
            let request = again.ok_or_else(|| Cause::Malformed("failed to repeat the request".into()))?;
            let (_, unsent) = watch::channel(0);
            http::exchange(client.execute(request), unsent, 0, &http.settings.patience).await
        })
        .await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN => {
                return Err(unauthorized(credentials, http.message(response).await));
            }
            _ => return Err(http.failure(response).await),
        }
        let body = http.read(response, MAX_TOKEN_BYTES).await?;
        // The error does not quote the body, because it may contain a token.
        let answer: TokenAnswer = serde_json::from_slice(&body)
            .map_err(|_| Cause::Malformed("the registry's token server sent an invalid response".into()))?;
        let token = answer.token.or(answer.access_token).filter(|token| !token.is_empty());
        token.ok_or_else(|| Cause::Malformed("the registry's token server sent no token".into()))
    }

    /// Rejects a token server unless it is the registry itself, well known, or configured by the
    /// user. The registry chooses the token server, so a hostile one could have credentials sent to
    /// any host.
    fn check_token_server(&self, http: &Http, url: &Url, registry: &str) -> Result<(), Cause> {
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let name = registry.to_ascii_lowercase();
        if http.is_of_registry(url, registry)? || self.token_servers.allow(&name, &host) {
            return Ok(());
        }
        Err(Cause::TokenServer { registry: name, host })
    }
}

fn unauthorized(credentials: Option<&Credentials>, message: String) -> Cause {
    let credentials = credentials.map_or_else(
        || "requests without credentials, and none are configured for it".to_owned(),
        Credentials::description,
    );
    Cause::Unauthorized { credentials, message }
}
