//! What a module may know of the plugin that it works for.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a module may know of the plugin that it works for.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginInfo {
    /// The plugin's name: a DNS-1123 subdomain.
    pub name: String,
    /// `Job`, `DaemonSet` or `Process`. More may come: treat an unknown driver like `Job`.
    pub driver: String,
    /// The `result-format` of the definition, as written; empty when it names none.
    pub format: String,
    /// How many results the run expects of this plugin.
    pub expected_results: u32,
    /// The free options that the definition gives its module: a JSON object, empty when it gives none.
    pub options: Value,
}

impl PluginInfo {
    /// The options as a type of the author's own. Derive `Deserialize` with `#[serde(default, deny_unknown_fields)]`, so that a
    /// definition without options works and a misspelt one is named.
    ///
    /// # Errors
    ///
    /// A sentence that names what does not fit, ready to be returned from a role's function.
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
        T::deserialize(&self.options).map_err(|error| format!("the module's `options` do not fit: {error}"))
    }
}
