//! Errors that occur before a module runs.

/// Error while creating a sandbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A setting is out of range.
    #[error("setting `{setting}` is out of range: {value} (allowed: {min} to {max})")]
    Setting {
        /// The field of [`SandboxConfig`](crate::SandboxConfig).
        setting: &'static str,
        /// The value of the setting.
        value: u64,
        /// The minimum value.
        min: u64,
        /// The maximum value.
        max: u64,
    },
    /// The engine rejected its configuration, or could not reserve its memory.
    #[error("failed to start the engine for modules: {0}")]
    Engine(String),
    /// The host's functions could not be provided to modules. This is a bug of the host.
    #[error("failed to set up the host's interface for modules: {0}")]
    Interface(String),
    /// The clock thread could not be started.
    #[error("failed to start the clock thread of the sandbox: {0}")]
    Ticker(#[source] std::io::Error),
}

impl SandboxError {
    /// Returns how to fix the problem, if known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Engine(_) => Some(
                "lower `max_instances`, or raise the limit on address space (`ulimit -v`): each call reserves some",
            ),
            Self::Setting { .. } => Some("correct it in the file of `--limits`"),
            Self::Interface(_) | Self::Ticker(_) => None,
        }
    }
}

/// Error while inspecting a component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file is a core module, which has no typed interface.
    #[error("it is a core WebAssembly module, not a component")]
    CoreModule,
    /// The file is not WebAssembly.
    #[error("it is not WebAssembly: it begins with {0}")]
    NotWasm(String),
    /// The file is WebAssembly of an unknown kind.
    #[error("it is WebAssembly of an unknown kind: version {version}, layer {layer}")]
    UnknownKind {
        /// The version field.
        version: u16,
        /// The layer field: 0 for core modules, 1 for components.
        layer: u16,
    },
    /// The file is truncated.
    #[error("it is truncated: it ends at byte {0}")]
    Truncated(u64),
    /// The structure is invalid.
    #[error("it is not a valid component: at byte {at}: {reason}")]
    Malformed {
        /// The byte offset.
        at: u64,
        /// The message of the parser.
        reason: String,
    },
    /// The structure exceeds a limit.
    #[error("it has too many {what}: more than {limit}")]
    TooMany {
        /// What exceeds the limit.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The component instantiates something that it imports, so its size cannot be determined in
    /// advance.
    #[error("it instantiates a {0} that it does not define itself, which is not supported")]
    Foreign(&'static str),
    /// The metadata section is invalid.
    #[error("its section `plumbline:module` is malformed: {0}")]
    Metadata(String),
}

impl InspectError {
    /// Returns how to fix the problem, if known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::CoreModule => Some("make it a component: `plumbline plugin build` in its project"),
            Self::NotWasm(_) | Self::UnknownKind { .. } => {
                Some("a module is a WebAssembly component, a file `NAME.wasm`")
            }
            Self::Empty | Self::Truncated(_) => Some("build or copy the file again"),
            Self::Metadata(_) => Some(
                "the section holds one JSON object: {\"name\", \"formats\", \"default-files\", \"limits\", \"schema\"}",
            ),
            Self::Foreign(_) => Some("compose the component so that it holds all its parts"),
            Self::Malformed { .. } | Self::TooMany { .. } => None,
        }
    }
}

/// Error while loading a component as a module.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The component exceeds the size that the sandbox compiles.
    #[error("module `{module}` is too large: {size} bytes (limit: {limit})")]
    TooLarge {
        /// The name of the module.
        module: String,
        /// The size of the component in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The data is not a valid component.
    #[error("failed to read module `{module}`: {source}")]
    Inspect {
        /// The name of the module.
        module: String,
        /// The reason.
        source: InspectError,
    },
    /// The component imports interfaces that are not available to modules.
    #[error("module `{module}` imports interfaces that modules cannot use: {}", imports.join(", "))]
    Refused {
        /// The name of the module.
        module: String,
        /// The rejected imports, with their names in the component.
        imports: Vec<String>,
    },
    /// The component was built for another generation of `plumbline:plugin`.
    #[error(
        "module `{module}` is {} than this host: it uses `plumbline:plugin@{found}`, this host `{host}`",
        if *newer { "newer" } else { "older" }
    )]
    Generation {
        /// The name of the module.
        module: String,
        /// The version that the component declares, empty if there is none.
        found: String,
        /// The version of this host.
        host: &'static str,
        /// Whether the module is newer than the host.
        newer: bool,
    },
    /// The component does not implement any role.
    #[error(
        "module `{0}` implements no role: it exports none of `plumbline:plugin/post-processor`, `plumbline:plugin/expectations`, `plumbline:plugin/summarizer`, `plumbline:plugin/judge` and `plumbline:plugin/check`"
    )]
    NoRole(String),
    /// The component has more parts than the sandbox allows.
    #[error("module `{module}` declares too many {what}: {count} (limit: {limit})")]
    TooMany {
        /// The name of the module.
        module: String,
        /// What exceeds the limit.
        what: &'static str,
        /// The actual number.
        count: u64,
        /// The limit from the sandbox settings.
        limit: u64,
    },
    /// The component is invalid, or uses a disabled WebAssembly feature.
    #[error("failed to compile module `{module}`: {reason}")]
    Compile {
        /// The name of the module.
        module: String,
        /// The message of the compiler.
        reason: String,
    },
    /// Compiling the component exceeded a limit.
    #[error("compiling module `{module}` took more than {limit}")]
    CompileLimit {
        /// The name of the module.
        module: String,
        /// The limit, such as `1024 MiB of memory`.
        limit: String,
    },
    /// The compiled code of the component is not what was sent.
    #[error("the digest of the compiled code of module `{0}` differs from the one that was sent")]
    CodeChanged(String),
    /// The component's types of an interface differ from the host's.
    #[error("failed to link module `{module}` with this host: {reason}")]
    Link {
        /// The name of the module.
        module: String,
        /// The message of the linker.
        reason: String,
    },
}

impl LoadError {
    /// Returns how to fix the problem, if known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Inspect { source, .. } => source.hint(),
            Self::TooLarge { .. } => {
                Some("strip debug information from it, or raise the sandbox's limit on component size")
            }
            Self::Refused { .. } => Some(
                "build it without network access: of WASI, modules can import only cli, io, clocks, random and filesystem",
            ),
            Self::Generation { newer: true, .. } => {
                Some("update plumbline, or build the module against the older interface")
            }
            Self::Generation { newer: false, .. } => Some("build the module again with a current SDK"),
            Self::NoRole(_) => Some("export the interface of a role from the WIT package `plumbline:plugin`"),
            Self::Link { .. } => Some(
                "build the module again with the SDK of this release; a module made for a later 0.1.x may need a newer plumbline",
            ),
            Self::CompileLimit { .. } => {
                Some("make the module smaller; in a pod, a higher memory limit leaves more for compiling")
            }
            Self::CodeChanged(_) => Some("start the run again: the code was changed in transit"),
            Self::TooMany { .. } | Self::Compile { .. } => None,
        }
    }
}
