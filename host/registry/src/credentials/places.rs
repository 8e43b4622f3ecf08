//! Locations of credential files, and their order.

use std::ffi::OsString;
use std::path::PathBuf;

use super::file::{self, CredentialFile};
use super::{CredentialError, Credentials, helper};

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
    #[must_use]
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

    /// Returns the credentials for a repository, if there are any.
    pub(crate) async fn find(&self, registry: &str, repository: &str) -> Result<Option<Credentials>, CredentialError> {
        for path in &self.files {
            let Some(file) = CredentialFile::read(path)? else { continue };
            let key = server_key(registry);
            if let Some(name) = file.helper(registry) {
                if let Some(found) = helper::ask(name, key, path, self.helper_path.as_deref()).await? {
                    return Ok(Some(found));
                }
                continue;
            }
            if let Some(secret) = file.secret(registry, repository, path)? {
                return Ok(Some(Credentials { secret, origin: format!("`{}`", path.display()) }));
            }
            if let Some(name) = file.store()
                && let Some(found) = helper::ask(name, key, path, self.helper_path.as_deref()).await?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// Returns the key of a registry for helpers: its name, or for Docker Hub a legacy URL.
fn server_key(registry: &str) -> &str {
    if file::is_docker_hub(registry) { "https://index.docker.io/v1/" } else { registry }
}

#[cfg(test)]
mod tests {
    use super::*;

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
