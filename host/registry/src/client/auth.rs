//! Authentication: credentials for a registry, and the tokens obtained with them.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::answer;
use super::session::{Client, Scope};
use crate::challenge::{self, Challenge};
use crate::credentials::{Credentials, Secret};
use crate::error::{Cause, ServerMessage};
use crate::limits::MAX_TOKEN_BYTES;

/// Client ID of this program at token servers.
const CLIENT_ID: &str = "plumbline";

/// Cache of credentials and authorization headers. Each is requested once per registry, repository
/// and access right.
#[derive(Debug, Default)]
pub(super) struct Auth {
    shown: Mutex<HashMap<Scope, HeaderValue>>,
    credentials: Mutex<HashMap<(String, String), Option<Credentials>>>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
}

impl Auth {
    /// Returns the authorization header for this scope, if the registry has asked for one before.
    pub(super) async fn shown(&self, scope: &Scope) -> Option<HeaderValue> {
        self.shown.lock().await.get(scope).cloned()
    }

    /// Returns the credentials for a scope. They are cached, because a credential helper may prompt
    /// the user every time.
    async fn credentials(&self, client: &Client, scope: &Scope) -> Result<Option<Credentials>, Cause> {
        let key = (scope.registry.clone(), scope.repository.clone());
        let mut known = self.credentials.lock().await;
        if let Some(found) = known.get(&key) {
            return Ok(found.clone());
        }
        let found = client.settings().credentials.find(&scope.registry, &scope.repository).await?;
        known.insert(key, found.clone());
        Ok(found)
    }

    /// Handles a 401: returns a new authorization header, with which the request is sent again.
    pub(super) async fn renew(&self, client: &Client, refused: &Response, scope: &Scope) -> Result<HeaderValue, Cause> {
        let credentials = self.credentials(client, scope).await?;
        let value = match (challenge::best(refused.headers()), credentials) {
            (Some(Challenge::Bearer { realm, service }), credentials) => {
                let token = token(client, &realm, service.as_deref(), credentials.as_ref(), scope).await?;
                format!("Bearer {token}")
            }
            (Some(Challenge::Basic), Some(Credentials { secret: Secret::Password(user, password), .. })) => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
            }
            (_, credentials) => return Err(unauthorized(credentials.as_ref(), ServerMessage::default())),
        };
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| Cause::Malformed("the token has characters that no token has".into()))?;
        value.set_sensitive(true);
        self.shown.lock().await.insert(scope.clone(), value.clone());
        Ok(value)
    }

    /// Returns the error for a request that was rejected again with new credentials.
    pub(super) async fn refused(&self, client: &Client, refused: Response, scope: &Scope) -> Cause {
        self.shown.lock().await.remove(scope);
        match self.credentials(client, scope).await {
            Ok(credentials) => {
                let told = answer::told(refused, client.settings().patience.answer).await;
                unauthorized(credentials.as_ref(), told)
            }
            Err(cause) => cause,
        }
    }
}

fn unauthorized(credentials: Option<&Credentials>, told: ServerMessage) -> Cause {
    let credentials = credentials
        .map_or_else(|| "requests without credentials, and none are configured for it".to_owned(), Credentials::told);
    Cause::Unauthorized { credentials, told }
}

/// Requests a token for a scope from the token server that the registry specifies (distribution's
/// token specification; OAuth 2 for identity tokens).
async fn token(
    client: &Client,
    realm: &str,
    service: Option<&str>,
    credentials: Option<&Credentials>,
    scope: &Scope,
) -> Result<String, Cause> {
    let mut url: Url =
        realm.parse().map_err(|_| Cause::Malformed("the registry's token server URL is invalid".into()))?;
    // The request contains a password.
    client.must_be_safe(&url)?;
    if credentials.is_some() {
        client.must_be_token_server(&url, scope)?;
    }
    let rights = if scope.push { "pull,push" } else { "pull" };
    let right = format!("repository:{}:{rights}", scope.repository);
    let request = match credentials {
        Some(Credentials { secret: Secret::Identity(refresh), .. }) => {
            let mut form = Url::parse("http://form/").map_err(|error| Cause::Malformed(error.to_string()))?;
            form.query_pairs_mut()
                .append_pair("grant_type", "refresh_token")
                .append_pair("service", service.unwrap_or_default())
                .append_pair("client_id", CLIENT_ID)
                .append_pair("scope", &right)
                .append_pair("refresh_token", refresh);
            let body = form.query().unwrap_or_default().to_owned();
            client.http(&url).await?.post(url).header("content-type", "application/x-www-form-urlencoded").body(body)
        }
        _ => {
            if let Some(service) = service {
                url.query_pairs_mut().append_pair("service", service);
            }
            url.query_pairs_mut().append_pair("scope", &right).append_pair("client_id", CLIENT_ID);
            let request = client.http(&url).await?.get(url);
            match credentials {
                Some(Credentials { secret: Secret::Password(user, password), .. }) => {
                    let mut value =
                        HeaderValue::try_from(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
                            .map_err(|_| Cause::Malformed("failed to send the password".into()))?;
                    value.set_sensitive(true);
                    request.header(AUTHORIZATION, value)
                }
                _ => request,
            }
        }
    };
    let patience = client.settings().patience;
    let reply = client.again(|| request.try_clone()).await?;
    match reply.status() {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN => {
            return Err(unauthorized(credentials, answer::told(reply, patience.answer).await));
        }
        _ => return Err(answer::refusal(reply, patience.answer).await),
    }
    let body = answer::bounded(reply, MAX_TOKEN_BYTES, patience.answer).await?;
    // The error does not quote the body, because it may contain a token.
    let parsed: TokenAnswer = serde_json::from_slice(&body)
        .map_err(|_| Cause::Malformed("what the registry's token server answers is not a token".into()))?;
    parsed
        .token
        .or(parsed.access_token)
        .filter(|token| !token.is_empty())
        .ok_or_else(|| Cause::Malformed("the registry's token server answers without a token".into()))
}
