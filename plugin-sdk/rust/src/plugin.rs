//! Information about the plugin that a module runs for.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Information about the plugin that a module runs for.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginInfo {
    /// The name of the plugin: a DNS-1123 subdomain.
    pub name: String,
    /// The driver: `Job`, `DaemonSet` or `Process`. Future versions may add others: treat an
    /// unknown driver like `Job`.
    pub driver: String,
    /// The `result-format` of the definition, as written; empty if it has none. For a judge, the
    /// name that its entry in the chain uses.
    pub format: String,
    /// The number of results that the run expects from this plugin.
    pub expected_results: u32,
    /// The options that the definition passes to its module: a JSON object, empty if there are
    /// none.
    pub options: Value,
}

impl PluginInfo {
    /// Deserializes the options into a type of your own.
    ///
    /// Derive `Deserialize` with `#[serde(default, deny_unknown_fields)]`, so that a definition
    /// without options works and a misspelled option is reported.
    ///
    /// # Errors
    ///
    /// A sentence that says which option is invalid. A role's function can return it unchanged.
    ///
    /// ```
    /// #[derive(serde::Deserialize, Default)]
    /// #[serde(default, deny_unknown_fields)]
    /// struct Options {
    ///     strict: bool,
    /// }
    ///
    /// # fn demo(plugin: &plumbline_sdk::PluginInfo) -> Result<(), String> {
    /// let options: Options = plugin.options()?;
    /// # let _ = options.strict;
    /// # Ok(())
    /// # }
    /// ```
    pub fn options<T: DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(&self.options).map_err(|error| format!("invalid options of the module: {error}"))
    }
}
