//! Tags of a repository (OCI distribution specification, "Listing Tags").

use reqwest::{Method, StatusCode};
use serde::Deserialize;

use super::Client;
use super::referrers::next_page;
use crate::error::{Cause, RegistryError};
use crate::limits::{MAX_MANIFEST_BYTES, MAX_PAGES};
use crate::reference::Reference;

/// Number of tags to request at once. Registries may return fewer.
const PAGE: &str = "1000";

#[derive(Deserialize)]
struct TagList {
    /// `null` in some registries if there are none.
    tags: Option<Vec<String>>,
}

impl Client {
    /// Returns the tags of a repository, in the registry's order. More than `most` are an error.
    pub async fn tags(&self, repository: &Reference, most: usize) -> Result<Vec<String>, RegistryError> {
        let location = self.mirrored(repository);
        let listed = self.list_tags(&location, most).await;
        listed.map_err(|cause| cause.of(format!("list the tags of `{}`", location.name())))
    }

    async fn list_tags(&self, repository: &Reference, most: usize) -> Result<Vec<String>, Cause> {
        let mut call = self.call(Method::GET, repository, "tags/list")?;
        call.url.query_pairs_mut().append_pair("n", PAGE);
        let mut all = Vec::new();
        for _ in 0..MAX_PAGES {
            let response = self.expect(&call, StatusCode::OK).await?;
            let next = next_page(&call.url, response.headers())?;
            let bytes = self.http().read(response, MAX_MANIFEST_BYTES).await?;
            let page: TagList = serde_json::from_slice(&bytes)
                .map_err(|error| Cause::Malformed(format!("the list of tags is invalid: {error}")))?;
            for tag in page.tags.unwrap_or_default() {
                // Only valid tags are used in URLs.
                repository.with_tag(&tag)?;
                all.push(tag);
            }
            if all.len() > most {
                return Err(Cause::Malformed(format!("it has more than {most} tags")));
            }
            match next {
                Some(next) => call.url = next,
                None => return Ok(all),
            }
        }
        Err(Cause::Malformed(format!("the list of tags has more than {MAX_PAGES} pages")))
    }
}
