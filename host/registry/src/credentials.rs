//! Credentials for registries, in the files and helpers of Docker and Podman.
//!
//! Docker's `config.json` and Podman's `auth.json` have the same format. Helpers are programs that
//! store secrets, with Docker's protocol.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use plumbline_core::text::excerpt;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::error::{CredentialError, server_message};
use crate::limits::{MAX_CREDENTIAL_FILE_BYTES, MAX_HELPER_BYTES};

/// Time limit for a helper. Some contact a cloud service, others prompt the user.
const HELPER_TIMEOUT: Duration = Duration::from_secs(60);
/// Message of a helper that has no secret for the registry. All helpers use it by convention.
const NOT_FOUND: &str = "credentials not found in native keychain";
/// User name that marks the secret as an identity token.
const TOKEN_USER: &str = "<token>";

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Secret {
    Password(String, String),
    /// An identity token, which is exchanged for access tokens (OAuth 2 refresh token).
    Identity(String),
}

// Implemented manually, so that printing the value cannot leak a secret to a log.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Password(..) => "Password",
            Self::Identity(_) => "Identity",
        })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) secret: Secret,
    /// File or helper that the secret comes from, for messages.
    origin: String,
}

impl Credentials {
    pub(crate) fn description(&self) -> String {
        match &self.secret {
            Secret::Password(user, _) => {
                format!("user `{}` with the password from {}", excerpt(user, 100), self.origin)
            }
            Secret::Identity(_) => format!("the identity token from {}", self.origin),
        }
    }
}

/// Credential files in order. The first one with credentials for a registry applies.
#[derive(Debug, Clone, Default)]
pub struct CredentialFiles {
    /// Paths of the files. Missing files are skipped.
    pub files: Vec<PathBuf>,
    /// Search path for helpers, in the format of `PATH`. `None` means `PATH` itself.
    pub helper_path: Option<OsString>,
}

impl CredentialFiles {
    /// Returns the locations that Docker and Podman use. `variable` reads an environment variable.
    ///
    /// 1. `$REGISTRY_AUTH_FILE`. If it is set, no other file is used.
    /// 2. `$DOCKER_CONFIG/config.json`
    /// 3. `$XDG_RUNTIME_DIR/containers/auth.json`
    /// 4. `$XDG_CONFIG_HOME/containers/auth.json` (`~/.config` if that is not set)
    /// 5. `~/.docker/config.json`
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(only) = path("REGISTRY_AUTH_FILE") {
            return Self { files: vec![only], helper_path: None };
        }
        let home = path("HOME");
        let under_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
        let config = path("XDG_CONFIG_HOME").or_else(|| under_home(".config"));
        let files = [
            path("DOCKER_CONFIG").map(|dir| dir.join("config.json")),
            path("XDG_RUNTIME_DIR").map(|dir| dir.join("containers/auth.json")),
            config.map(|dir| dir.join("containers/auth.json")),
            under_home(".docker/config.json"),
        ];
        Self { files: files.into_iter().flatten().collect(), helper_path: None }
    }

    pub(crate) async fn find(&self, registry: &str, repository: &str) -> Result<Option<Credentials>, CredentialError> {
        // Helpers know Docker Hub by a legacy URL.
        let key = if is_docker_hub(registry) { "https://index.docker.io/v1/" } else { registry };
        for path in &self.files {
            let Some(file) = CredentialFile::read(path)? else { continue };
            let helper = match file.helper(registry) {
                Some(name) => Some(name),
                None => match file.secret(registry, repository, path)? {
                    Some(secret) => return Ok(Some(Credentials { secret, origin: format!("`{}`", path.display()) })),
                    None => file.creds_store.as_deref().filter(|name| !name.is_empty()),
                },
            };
            if let Some(name) = helper
                && let Some(found) = ask(name, key, path, self.helper_path.as_deref()).await?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The relevant fields of a credential file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CredentialFile {
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

fn malformed(path: &Path, why: &str) -> CredentialError {
    CredentialError {
        message: format!("invalid credentials file `{}`: {why}", path.display()),
        hint: "write the file again with `docker login` or `podman login`".to_owned(),
    }
}

impl CredentialFile {
    fn read(path: &Path) -> Result<Option<Self>, CredentialError> {
        let unreadable = |error| CredentialError {
            message: format!("failed to read credentials in `{}`: {error}", path.display()),
            hint: "make the file readable, or choose another with `REGISTRY_AUTH_FILE` or `DOCKER_CONFIG`".to_owned(),
        };
        match std::fs::metadata(path) {
            // If a parent is a file, the credential file does not exist either.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
            Ok(metadata) if metadata.is_file() => {}
            // Reading from a pipe could block. `/dev/null` is a common way to disable credentials.
            Ok(_) if path == Path::new("/dev/null") => return Ok(None),
            Ok(_) => return Err(malformed(path, "it is not a file")),
        }
        let mut text = Vec::new();
        let file = File::open(path).map_err(unreadable)?;
        file.take(MAX_CREDENTIAL_FILE_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_CREDENTIAL_FILE_BYTES {
            return Err(malformed(path, &format!("it has more than {MAX_CREDENTIAL_FILE_BYTES} bytes")));
        }
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        // Report only the position. Messages of serde quote the input, which may be a secret.
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| malformed(path, &format!("at line {}, column {}", error.line(), error.column())))
    }

    fn helper(&self, registry: &str) -> Option<&str> {
        let (_, name) = self.cred_helpers.iter().find(|(key, _)| names(key, registry, ""))?;
        Some(name.as_str()).filter(|name| !name.is_empty())
    }

    /// Returns the secret for a repository that is in the file itself. As in Podman, the most
    /// specific entry applies.
    fn secret(&self, registry: &str, repository: &str, path: &Path) -> Result<Option<Secret>, CredentialError> {
        let entries = self.auths.iter().filter_map(|(key, entry)| Some((key.as_str(), entry.as_ref()?)));
        let mut fitting: Vec<(&str, &Entry)> = entries.filter(|(key, _)| names(key, registry, repository)).collect();
        fitting.sort_by_key(|(key, _)| std::cmp::Reverse(plain(key).len()));
        for (key, entry) in fitting {
            if let Some(token) = entry.identitytoken.as_ref().filter(|token| !token.is_empty()) {
                return Ok(Some(Secret::Identity(token.clone())));
            }
            if let Some(auth) = entry.auth.as_ref().filter(|auth| !auth.is_empty()) {
                let wrong = || malformed(path, &format!("entry `{key}`: `auth` is not `USER:PASSWORD` in base64"));
                return decode(auth).map(Some).ok_or_else(wrong);
            }
            if let (Some(user), Some(password)) = (&entry.username, &entry.password) {
                return Ok(Some(Secret::Password(user.clone(), password.clone())));
            }
            // An empty entry means that the user is logged in and a helper has the secret.
        }
        Ok(None)
    }
}

fn decode(auth: &str) -> Option<Secret> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let bytes = GeneralPurpose::new(&STANDARD, config).decode(auth.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    // Docker terminates some passwords with a NUL byte.
    Some(Secret::Password(user.to_owned(), password.trim_end_matches('\0').to_owned()))
}

fn is_docker_hub(registry: &str) -> bool {
    matches!(registry, "docker.io" | "index.docker.io" | "registry-1.docker.io")
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

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// Asks `docker-credential-NAME` for the credentials of `server`. `file` is the configuration file,
/// for messages.
async fn ask(
    name: &str,
    server: &str,
    file: &Path,
    search: Option<&OsStr>,
) -> Result<Option<Credentials>, CredentialError> {
    let program = format!("docker-credential-{}", excerpt(name, 100));
    let failed = |why: String| CredentialError {
        message: format!("credential helper `{program}`, named in `{}`, failed: {why}", file.display()),
        hint: format!("install `{program}`, test it with `echo HOST | {program} get`, or remove it from the file"),
    };
    // The program is searched on `PATH`. Reject paths, because a credential file must not be able
    // to run arbitrary programs.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        return Err(failed("its name has invalid characters".into()));
    }
    let (status, out, err) = run(&program, server, search).await.map_err(failed)?;
    if out.len() as u64 > MAX_HELPER_BYTES {
        return Err(failed(format!("it printed more than {MAX_HELPER_BYTES} bytes")));
    }
    if !status.success() {
        let printed = [&out, &err].map(|text| String::from_utf8_lossy(text).trim().to_owned());
        if printed.iter().any(|text| text.contains(NOT_FOUND)) {
            return Ok(None);
        }
        return Err(failed(format!("{status}{}", server_message(&printed.join(" ")))));
    }
    // Do not quote the output. It may be a secret even if it is malformed.
    let answer: HelperAnswer =
        serde_json::from_slice(&out).map_err(|_| failed("it printed an invalid response".into()))?;
    if answer.secret.is_empty() {
        return Ok(None);
    }
    let secret = match answer.username.as_str() {
        TOKEN_USER => Secret::Identity(answer.secret),
        _ => Secret::Password(answer.username, answer.secret),
    };
    Ok(Some(Credentials { secret, origin: format!("`{program}`") }))
}

/// Runs a helper with `server` as its input. Returns its status and output. The error is a phrase.
async fn run(program: &str, server: &str, search: Option<&OsStr>) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), String> {
    let mut command = Command::new(program);
    if let Some(search) = search {
        command.env("PATH", search);
    }
    let mut child = command
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("failed to start it: {error}"))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let talk = async {
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A helper that answers without reading has closed its standard input. Its answer
                // is still valid.
                let _ = stdin.write_all(server.as_bytes()).await;
            }
        };
        let ((), out, err) = tokio::join!(feed, read_bounded(stdout), read_bounded(stderr));
        (child.wait().await, out, err)
    };
    // The timeout drops the future, which kills the program.
    let Ok((status, out, err)) = tokio::time::timeout(HELPER_TIMEOUT, talk).await else {
        return Err(format!("it did not respond within {} s", HELPER_TIMEOUT.as_secs()));
    };
    Ok((status.map_err(|error| error.to_string())?, out, err))
}

/// Reads one byte more than the limit. A program that writes more is killed.
async fn read_bounded(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // Use the bytes that were read so far. If they are incomplete, parsing fails.
        let _ = from.take(MAX_HELPER_BYTES + 1).read_to_end(&mut bytes).await;
    }
    bytes
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
        let message = CredentialFile::read(&path).err().unwrap().to_string();
        assert!(message.contains("line 1") && !message.contains("hunter2"), "{message}");
        std::fs::write(&path, r#"{"auths": {"r": {"auth": "aHVudGVyMg=="}}}"#).unwrap();
        let message = CredentialFile::read(&path).unwrap().unwrap().secret("r", "x", &path).unwrap_err().to_string();
        assert!(
            message.contains("entry `r`") && !message.contains("hunter2") && !message.contains("aHVu"),
            "{message}"
        );
        assert!(CredentialFile::read(dir.path()).err().unwrap().to_string().contains("not a file"));
        assert!(CredentialFile::read(Path::new("/dev/null")).unwrap().is_none());
        std::fs::write(&path, vec![b' '; usize::try_from(MAX_CREDENTIAL_FILE_BYTES).unwrap() + 1]).unwrap();
        assert!(CredentialFile::read(&path).err().unwrap().to_string().contains("more than"));
    }

    #[tokio::test]
    async fn a_helper_is_found_by_name_only() {
        for name in ["../x", "a/b", "a b", "a;b"] {
            let message = ask(name, "r", Path::new("auth.json"), None).await.unwrap_err().to_string();
            assert!(message.contains("characters"), "{message}");
        }
        let error = ask("not-there-at-all", "r", Path::new("auth.json"), None).await.unwrap_err();
        assert!(error.to_string().contains("`docker-credential-not-there-at-all`, named in `auth.json`"), "{error}");
        assert!(error.hint.contains("install"));
    }

    fn files(variables: &[(&str, &str)]) -> Vec<String> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        CredentialFiles::from_environment(find).files.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn places_are_those_of_docker_and_podman() {
        let all = [("HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/u"), ("DOCKER_CONFIG", "/d")];
        let expected = [
            "/d/config.json",
            "/run/u/containers/auth.json",
            "/h/.config/containers/auth.json",
            "/h/.docker/config.json",
        ];
        assert_eq!(files(&all), expected);
        assert_eq!(files(&[("HOME", "/h"), ("REGISTRY_AUTH_FILE", "/a.json")]), ["/a.json"]);
        assert_eq!(files(&[("XDG_CONFIG_HOME", "/c"), ("DOCKER_CONFIG", "")]), ["/c/containers/auth.json"]);
        assert!(files(&[]).is_empty());
    }
}
