//! Docker's `config.json` and Podman's `auth.json`, which have the same format.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use super::{CredentialError, Secret};
use crate::limits::MAX_CREDENTIAL_FILE_BYTES;

/// The relevant fields of a credential file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CredentialFile {
    auths: BTreeMap<String, Option<Entry>>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entry")
    }
}

/// Returns whether `registry` is one of the names of Docker Hub.
pub(super) fn is_docker_hub(registry: &str) -> bool {
    matches!(registry, "docker.io" | "index.docker.io" | "registry-1.docker.io")
}

impl CredentialFile {
    /// Reads the file, if it exists.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, CredentialError> {
        let unreadable = |error| CredentialError::Read { path: path.into(), error };
        let malformed = |why: String| CredentialError::Malformed { path: path.into(), why };
        match std::fs::metadata(path) {
            // If a parent is a file, the credential file does not exist either.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
            // Reading from a pipe could block. `/dev/null` is a common way to disable credentials.
            Ok(there) if !there.is_file() => {
                return if path == Path::new("/dev/null") {
                    Ok(None)
                } else {
                    Err(malformed("it is not a file".into()))
                };
            }
            Ok(_) => {}
        }
        let mut text = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        file.take(MAX_CREDENTIAL_FILE_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_CREDENTIAL_FILE_BYTES {
            return Err(malformed(format!("it has more than {MAX_CREDENTIAL_FILE_BYTES} bytes")));
        }
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        // Report only the position. Messages of serde quote the input, which may be a secret.
        let place =
            |error: serde_json::Error| malformed(format!("at line {}, column {}", error.line(), error.column()));
        serde_json::from_slice(&text).map(Some).map_err(place)
    }

    /// Returns the credential helper for this registry.
    pub(super) fn helper(&self, registry: &str) -> Option<&str> {
        let key = self.cred_helpers.iter().find(|(key, _)| names(key, registry, ""));
        key.map(|(_, name)| name.as_str()).filter(|name| !name.is_empty())
    }

    /// Returns the credential helper for all registries.
    pub(super) fn store(&self) -> Option<&str> {
        self.creds_store.as_deref().filter(|name| !name.is_empty())
    }

    /// Returns the secret for a repository that is in the file itself. As in Podman, the most
    /// specific entry applies.
    pub(super) fn secret(
        &self,
        registry: &str,
        repository: &str,
        path: &Path,
    ) -> Result<Option<Secret>, CredentialError> {
        let mut fitting: Vec<(&str, &Entry)> = self
            .auths
            .iter()
            .filter_map(|(key, entry)| Some((key.as_str(), entry.as_ref()?)))
            .filter(|(key, _)| names(key, registry, repository))
            .collect();
        fitting.sort_by_key(|(key, _)| std::cmp::Reverse(plain(key).len()));
        for (key, entry) in fitting {
            let wrong =
                |why: &str| CredentialError::Malformed { path: path.into(), why: format!("entry `{key}`: {why}") };
            if let Some(token) = entry.identitytoken.as_ref().filter(|token| !token.is_empty()) {
                return Ok(Some(Secret::Identity(token.clone())));
            }
            if let Some(auth) = entry.auth.as_ref().filter(|auth| !auth.is_empty()) {
                return decoded(auth).map(Some).ok_or_else(|| wrong("`auth` is not `USER:PASSWORD` in base64"));
            }
            if let (Some(user), Some(password)) = (&entry.username, &entry.password) {
                return Ok(Some(Secret::Password(user.clone(), password.clone())));
            }
            // An empty entry means that the user is logged in and a helper has the secret.
        }
        Ok(None)
    }
}

fn decoded(auth: &str) -> Option<Secret> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let bytes = GeneralPurpose::new(&STANDARD, config).decode(auth.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    // Docker terminates some passwords with a NUL byte.
    Some(Secret::Password(user.to_owned(), password.trim_end_matches('\0').to_owned()))
}

/// Returns the key of an entry without its scheme, and without the path that old versions of Docker
/// append.
fn plain(key: &str) -> &str {
    let (rest, address) = match key.split_once("://") {
        Some((_, rest)) => (rest, true),
        None => (key, false),
    };
    let rest = rest.trim_end_matches('/');
    // In a URL, the path is an API version, not a name.
    if address { rest.split('/').next().unwrap_or_default() } else { rest }
}

/// Returns whether an entry applies to this repository: to its registry, to a prefix of its name,
/// or to its full name.
fn names(key: &str, registry: &str, repository: &str) -> bool {
    let key = plain(key);
    let (host, path) = key.split_once('/').unwrap_or((key, ""));
    let same_host = host.eq_ignore_ascii_case(registry) || is_docker_hub(host) && is_docker_hub(registry);
    same_host
        && (path.is_empty()
            || repository.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str, registry: &str, repository: &str) -> Option<Secret> {
        let file: CredentialFile = serde_json::from_str(text).unwrap();
        file.secret(registry, repository, Path::new("auth.json")).unwrap()
    }

    fn password(user: &str, password: &str) -> Option<Secret> {
        Some(Secret::Password(user.into(), password.into()))
    }

    #[test]
    fn the_most_exact_entry_counts() {
        // `a:1`, `b:2:3` and `c:4`. The last one has no padding.
        let text = r#"{"auths": {"r.example:5000": {"auth": "YTox"}, "r.example:5000/team": {"auth": "YjoyOjM="}, "r.example:5000/team/x": {"auth": "Yzo0"}}}"#;
        assert_eq!(secret(text, "r.example:5000", "other"), password("a", "1"));
        assert_eq!(secret(text, "r.example:5000", "team/y"), password("b", "2:3"));
        assert_eq!(secret(text, "r.example:5000", "team/x/y"), password("c", "4"));
        assert_eq!(secret(text, "r.example:5000", "teams"), password("a", "1"));
        assert_eq!(secret(text, "r.example", "team"), None);
        assert_eq!(secret(text, "x.r.example:5000", "team"), None);
    }

    #[test]
    fn all_spellings_of_an_entry_are_read() {
        let text = r#"{"auths": {"https://index.docker.io/v1/": {"auth": "YTox"}, "http://r.example/v2/": {"username": "u", "password": "p"},
            "t.example": {"auth": "YTox", "identitytoken": "t"}, "empty.example": {}, "null.example": null}, "HttpHeaders": {"x": "y"}}"#;
        assert_eq!(secret(text, "docker.io", "library/x"), password("a", "1"));
        assert_eq!(secret(text, "r.example", "x"), password("u", "p"));
        assert_eq!(secret(text, "t.example", "x"), Some(Secret::Identity("t".into())));
        assert_eq!(secret(text, "empty.example", "x"), None);
        assert_eq!(secret(text, "null.example", "x"), None);
    }

    #[test]
    fn a_broken_file_is_an_error_that_quotes_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        assert!(CredentialFile::read(&path).unwrap().is_none());
        std::fs::write(&path, r#"{"auths": {"r": {"password": hunter2}}}"#).unwrap();
        let told = CredentialFile::read(&path).unwrap_err().to_string();
        assert!(told.contains("line 1") && !told.contains("hunter2"), "{told}");
        std::fs::write(&path, r#"{"auths": {"r": {"auth": "aHVudGVyMg=="}}}"#).unwrap();
        let told = CredentialFile::read(&path).unwrap().unwrap().secret("r", "x", &path).unwrap_err().to_string();
        assert!(told.contains("entry `r`") && !told.contains("hunter2") && !told.contains("aHVu"), "{told}");
        assert!(CredentialFile::read(dir.path()).unwrap_err().to_string().contains("not a file"));
        assert!(CredentialFile::read(Path::new("/dev/null")).unwrap().is_none());
        std::fs::write(&path, vec![b' '; usize::try_from(MAX_CREDENTIAL_FILE_BYTES).unwrap() + 1]).unwrap();
        assert!(CredentialFile::read(&path).unwrap_err().to_string().contains("more than"));
    }
}
