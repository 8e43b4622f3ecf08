//! A profile as data, after its file was checked.

use std::collections::BTreeMap;

use plumbline_core::PluginName;
use plumbline_core::definition::Reruns;
use serde::Serialize;

/// File name of a profile, next to the definition.
pub const PROFILE_FILE: &str = "profile.yaml";

/// Maximum size of a profile in bytes.
pub const MAX_PROFILE_BYTES: usize = 256 << 10;

/// The part of the name of a file that stands for the version.
pub const VERSION_PLACEHOLDER: &str = "{version}";

/// The part of an argument that the value replaces.
pub(crate) const VALUE_PLACEHOLDER: &str = "{value}";

/// Maximum length of a version in bytes.
const MAX_VERSION: usize = 63;

/// A profile of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Name, which is that of the plugin.
    pub name: PluginName,
    /// Name of the suite, for people.
    pub title: String,
    /// What the suite tests, in one or two sentences.
    pub description: Option<String>,
    /// Version of the suite.
    pub version: Version,
    /// How the suite runs on this machine. `None` if it runs only as its definition says.
    pub local: Option<LocalForm>,
    /// The options, in the order of the file.
    pub options: Vec<ProfileOption>,
    /// The modes, in the order of the file.
    pub modes: Vec<ProfileMode>,
    /// File with the names of the tests.
    pub tests: Option<String>,
    /// Program in the image of the suite that prints lists.
    pub listing: Option<Listing>,
    /// How tests are selected by their names. `None` if they cannot be.
    pub selection: Option<TestSelection>,
    /// File with the images that the suite uses besides its own.
    pub images: Option<String>,
    /// Files to submit, in the order of the file.
    pub submission: Vec<SubmittedFile>,
}

/// The version of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// The version that the profile contains.
    Fixed(String),
    /// The value of the option with this name.
    Option(String),
    /// The version of Kubernetes in the cluster.
    Cluster,
    /// The version in an annotation of a custom resource definition of the cluster.
    Crd {
        /// Name of the definition, such as `gateways.gateway.networking.k8s.io`.
        name: String,
        /// Key of the annotation.
        annotation: String,
    },
}

/// How a suite runs on one machine, in place of what its definition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalForm {
    /// Program and arguments. A program with a slash is relative to the bundle. Empty to keep those
    /// of the definition.
    pub command: Vec<String>,
}

/// A program in the image of a suite that prints lists. Without arguments for a list, it does not
/// print that list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Path of the program in the image, without a slash at the start.
    pub program: String,
    /// Arguments for the names of all tests.
    pub tests: Vec<String>,
    /// Arguments for the tests that a submission must have passed.
    pub required: Vec<String>,
    /// Arguments for the images that the tests use.
    pub images: Vec<String>,
    /// Form of the names of tests.
    pub format: ListingFormat,
}

/// The form in which a program prints the names of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingFormat {
    /// One name per line.
    Lines,
    /// Indented lines with the place in the source, a colon and the name. Other lines are not names.
    Ginkgo,
}

/// An option of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileOption {
    /// Name on the command line.
    pub name: String,
    /// What the option does, in one sentence.
    pub help: String,
    /// Type of its value.
    pub kind: OptionType,
    /// Value if the user gives none.
    pub default: Option<String>,
    /// Whether a run needs a value.
    pub required: bool,
    /// Whether the value must stay out of archives and definitions.
    pub secret: bool,
    /// Environment variable that gets the value.
    pub env: Option<String>,
    /// Argument that gets the value in place of `{value}`.
    pub arg: Option<String>,
    /// File in the directory of the plugin's configuration that gets the value.
    pub file: Option<String>,
    /// Whether the value replaces the image of the definition.
    pub image: bool,
    /// Key of `plumbline.options` that gets the value, for a check or another module.
    pub option: Option<String>,
}

/// The type of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionType {
    /// Any text in one line.
    String,
    /// `true` or `false`.
    Bool,
    /// A whole number of 64 bits.
    Integer,
    /// A duration, such as `90m`. The suite gets it in seconds.
    Duration,
    /// A URL with a host.
    Url,
    /// One of these values.
    Enum(Vec<String>),
    /// Values that are separated by commas.
    List,
    /// The content of a file.
    File,
    /// The path of something on this machine.
    Path,
}

/// A named set of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileMode {
    /// Name of the mode.
    pub name: String,
    /// What the mode tests, in one or two sentences.
    pub description: String,
    /// Whether it is used if the user names none.
    pub default: bool,
    /// Values of options.
    pub set: BTreeMap<String, String>,
    /// File with the names of tests that must pass.
    pub required: Option<String>,
    /// Whether results are submitted of this mode, and of no other.
    pub submit: bool,
}

/// The options that select tests by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSelection {
    /// Name of the option for the tests to run: a Go regular expression.
    pub focus: String,
    /// Name of the option for the tests to skip: a Go regular expression.
    pub skip: Option<String>,
    /// Names of other options that change which tests run. Reruns of failed tests leave them out.
    pub clear: Vec<String>,
    /// Prefix of names in results that is not a part of the names.
    pub strip: String,
    /// Text before each name that the suite matches the expressions against.
    pub prefix: String,
}

/// A file to submit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedFile {
    /// Name in the folder of the submission.
    pub name: String,
    /// Where its content comes from.
    pub source: Source,
}

/// Where the content of a submitted file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The file with this path in the archive.
    Archive(String),
    /// The value of the option with this name and the type `file`. Without a value, the file is not
    /// submitted.
    Option(String),
}

impl OptionType {
    /// Returns the name of the type, as in `profile.yaml`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Bool => "bool",
            Self::Integer => "integer",
            Self::Duration => "duration",
            Self::Url => "url",
            Self::Enum(_) => "enum",
            Self::List => "list",
            Self::File => "file",
            Self::Path => "path",
        }
    }
}

impl TestSelection {
    /// Returns whether the value of the option `name` is a regular expression.
    pub(crate) fn is_expression(&self, name: &str) -> bool {
        self.focus == name || self.skip.as_deref() == Some(name)
    }

    /// Returns the names of all options that change which tests run.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        [&self.focus].into_iter().chain(&self.skip).chain(&self.clear).map(String::as_str)
    }
}

impl Profile {
    /// Returns the option named `name`.
    pub fn option(&self, name: &str) -> Option<&ProfileOption> {
        self.options.iter().find(|option| option.name == name)
    }

    /// Returns the mode that is used if the user names none.
    pub fn default_mode(&self) -> Option<&ProfileMode> {
        self.modes.iter().find(|mode| mode.default)
    }

    /// Returns the only mode whose results can be submitted. `None` if those of each can.
    pub fn submitted_mode(&self) -> Option<&ProfileMode> {
        self.modes.iter().find(|mode| mode.submit)
    }

    /// Returns the version to show before a run: the text, or the default of the option. `None` if
    /// only the run or its cluster decides.
    pub fn shown_version(&self) -> Option<&str> {
        match &self.version {
            Version::Fixed(text) => Some(text),
            Version::Option(name) => self.option(name).and_then(|option| option.default.as_deref()),
            Version::Cluster | Version::Crd { .. } => None,
        }
    }

    /// Returns the text before each name that the suite matches expressions against.
    pub fn name_prefix(&self) -> &str {
        self.selection.as_ref().map_or("", |selection| &selection.prefix)
    }

    /// Returns how failed tests of `plugin`, which runs the suite, run again. `None` if the suite
    /// cannot select tests by their names.
    pub fn reruns(&self, plugin: PluginName) -> Option<Reruns> {
        let selection = self.selection.as_ref()?;
        // Each of these options has a variable.
        let mut variables = selection.options().filter_map(|name| self.option(name)?.env.clone());
        let focus = variables.next()?;
        Some(Reruns { plugin, focus, clear: variables.collect(), strip: selection.strip.clone() })
    }

    /// Returns the files that belong to the bundle because of this profile: the key that names
    /// each, and a glob pattern. Any version matches.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, String)> {
        let pattern = |file: &String| file.replace(VERSION_PLACEHOLDER, "*");
        let command = self.local.iter().filter_map(|local| local.command.first());
        let own = command.filter(|program| program.contains('/') && !program.starts_with('/'));
        let own = own.map(|program| ("local.command", program.strip_prefix("./").unwrap_or(program).to_owned()));
        let tests = self.tests.iter().map(move |file| ("tests", pattern(file)));
        let images = self.images.iter().map(move |file| ("images", pattern(file)));
        let required = self.modes.iter().filter_map(|mode| mode.required.as_ref());
        own.chain(tests).chain(images).chain(required.map(move |file| ("required", pattern(file))))
    }
}

/// Returns whether `text` is a version, which may be part of a file name.
pub(crate) fn is_version(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    (1..=MAX_VERSION).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('.')
}
