//! The arguments of the worker, from its command line and its environment (docs/protocol.md,
//! "Environment").

use std::env;
use std::path::PathBuf;

use plumbline_phonehome::{ClientConfig, ResultKey};

/// The usage message.
const USAGE: &str = "usage: phonehome-worker global|single-node PATH";

/// The arguments of the worker.
pub(crate) struct Arguments {
    /// The aggregator's URL, and the credentials for it.
    pub(crate) config: ClientConfig,
    /// The result that is sent.
    pub(crate) key: ResultKey,
    /// The file or directory to send.
    pub(crate) path: PathBuf,
}

impl Arguments {
    /// Reads the arguments of this process.
    pub(crate) fn read() -> Result<Self, String> {
        let given: Vec<_> = env::args_os().skip(1).collect();
        let [mode, path] = given.as_slice() else { return Err(USAGE.to_owned()) };
        let plugin = variable("RESULT_TYPE")?.parse().map_err(|error| format!("`RESULT_TYPE`: {error}"))?;
        let key = match mode.to_str() {
            Some("global") => ResultKey::global(plugin),
            Some("single-node") => {
                let node = variable("NODE_NAME")?.parse().map_err(|error| format!("`NODE_NAME`: {error}"))?;
                ResultKey::new(plugin, node)
            }
            _ => return Err(USAGE.to_owned()),
        };
        let config = ClientConfig {
            aggregator_url: variable("AGGREGATOR_URL")?,
            ca_cert: variable("CA_CERT")?,
            client_cert: variable("CLIENT_CERT")?,
            client_key: variable("CLIENT_KEY")?,
        };
        Ok(Self { config, key, path: path.into() })
    }
}

fn variable(name: &str) -> Result<String, String> {
    match env::var(name) {
        Ok(text) if !text.trim().is_empty() => Ok(text),
        Ok(_) | Err(env::VarError::NotPresent) => {
            Err(format!("`{name}` is not set: an aggregator sets it in what it starts"))
        }
        Err(env::VarError::NotUnicode(_)) => Err(format!("`{name}` is not valid UTF-8")),
    }
}
