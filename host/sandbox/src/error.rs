//! What can go wrong before a module runs.

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A setting is out of its range.
    #[error("setting `{setting}` is out of range: {value} (allowed: {min} to {max})")]
    Setting {
        /// The field of [`SandboxConfig`](crate::SandboxConfig).
        setting: &'static str,
        /// What it was set to.
        value: u64,
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// The engine refused its configuration, or could not reserve its memory.
    #[error("the engine for modules cannot start: {reason}")]
    Engine {
        /// The cause, as the engine words it.
        reason: String,
    },
    /// The host's own functions could not be offered to modules. This is a defect of the host.
    #[error("failed to set up the host's interface for modules: {reason}")]
    Interface {
        /// The cause, as the engine words it.
        reason: String,
    },
    /// The thread that measures time could not be started.
    #[error("the clock thread of the sandbox cannot start: {0}")]
    Ticker(#[source] std::io::Error),
}

impl SandboxError {
    /// What to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Engine { .. } => Some(
                "each call in flight reserves address space: set fewer `max_instances`, or raise the limit on it (`ulimit -v`)",
            ),
            Self::Setting { .. } | Self::Interface { .. } | Self::Ticker(_) => None,
        }
    }
}

/// Why some bytes are not a component that can be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// There are no bytes.
    #[error("the file is empty")]
    Empty,
    /// A core module, which has no typed interface.
    #[error("it is a core WebAssembly module, not a component")]
    CoreModule,
    /// Something else altogether.
    #[error("it is not WebAssembly: it begins with {beginning}")]
    NotWasm {
        /// The first bytes, in hexadecimal.
        beginning: String,
    },
    /// WebAssembly of a kind that is not known.
    #[error("it is WebAssembly of an unknown kind: version {version}, layer {layer}")]
    UnknownKind {
        /// The version field.
        version: u16,
        /// The layer field: 0 for core modules, 1 for components.
        layer: u16,
    },
    /// The bytes end too early.
    #[error("it is cut off: it ends at byte {at}, where more was announced")]
    Truncated {
        /// Where more bytes were expected.
        at: u64,
    },
    /// The structure is broken.
    #[error("it is not a valid component: at byte {at}: {reason}")]
    Malformed {
        /// Where.
        at: u64,
        /// The cause, as the parser words it.
        reason: String,
    },
    /// The structure is beyond a bound.
    #[error("it has too many {what}: more than {limit}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The bound.
        limit: u64,
    },
    /// The component instantiates something that is handed to it, so its size cannot be told beforehand.
    #[error("it instantiates a {what} that it does not define itself, which is not supported")]
    Foreign {
        /// `component` or `core module`.
        what: &'static str,
    },
    /// The section with the module's metadata cannot be understood.
    #[error("its section `plumbline:module` is malformed: {reason}")]
    Metadata {
        /// The cause.
        reason: String,
    },
}

impl InspectError {
    /// What to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::CoreModule => Some("make it a component: `plumbline plugin build` in its project"),
            Self::NotWasm { .. } | Self::UnknownKind { .. } => {
                Some("a module is a WebAssembly component, a file `NAME.wasm`")
            }
            Self::Empty | Self::Truncated { .. } => Some("build or copy the file again"),
            Self::Metadata { .. } => Some(
                "the section holds one JSON object: {\"name\", \"formats\", \"default-files\", \"limits\", \"schema\"}",
            ),
            Self::Foreign { .. } => Some("compose the component so that it holds all its parts"),
            Self::Malformed { .. } | Self::TooMany { .. } => None,
        }
    }
}

/// Why a component cannot be used as a module.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The component is larger than the sandbox compiles.
    #[error("module `{module}` is too large: {size} bytes (limit: {limit})")]
    TooLarge {
        /// The module's name.
        module: String,
        /// The component's size in bytes.
        size: u64,
        /// [`SandboxConfig::max_component_bytes`](crate::SandboxConfig::max_component_bytes).
        limit: u64,
    },
    /// The bytes are not a component that can be understood.
    #[error("failed to read module `{module}`: {source}")]
    Inspect {
        /// The module's name.
        module: String,
        /// What is wrong.
        source: InspectError,
    },
    /// The component asks for interfaces that modules do not get.
    #[error("module `{module}` asks for what modules do not get: {}", imports.join(", "))]
    Refused {
        /// The module's name.
        module: String,
        /// The imports that are refused, as the component names them.
        imports: Vec<String>,
    },
    /// The component was made for another generation of `plumbline:plugin`.
    #[error(
        "module `{module}` is {} than this host: it speaks `plumbline:plugin@{found}`, this host `{host}`",
        if *newer { "newer" } else { "older" }
    )]
    Generation {
        /// The module's name.
        module: String,
        /// The version that the component names; empty if it names none.
        found: String,
        /// The version of this host.
        host: &'static str,
        /// Whether the module is the newer one.
        newer: bool,
    },
    /// The component exports nothing that the host could call.
    #[error(
        "module `{module}` plays no role: it exports none of `plumbline:plugin/post-processor`, `plumbline:plugin/expectations`, `plumbline:plugin/summarizer` and `plumbline:plugin/judge`"
    )]
    NoRole {
        /// The module's name.
        module: String,
    },
    /// The component consists of more parts than the sandbox allows.
    #[error("module `{module}` declares too many {what}: {count} (limit: {limit})")]
    TooMany {
        /// The module's name.
        module: String,
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        count: u64,
        /// The setting of the sandbox.
        limit: u64,
    },
    /// The component is not valid, or uses a feature of WebAssembly that is switched off.
    #[error("module `{module}` does not compile: {reason}")]
    Compile {
        /// The module's name.
        module: String,
        /// The cause, as the compiler words it.
        reason: String,
    },
    /// Compiling the component took more than it may.
    #[error("compiling module `{module}` took more than {limit}")]
    CompileLimit {
        /// The module's name.
        module: String,
        /// What there was, such as `1024 MiB of memory`.
        limit: String,
    },
    /// The component's idea of an interface is not the host's.
    #[error("module `{module}` does not fit this host: {reason}")]
    Link {
        /// The module's name.
        module: String,
        /// The cause, as the linker words it.
        reason: String,
    },
}

impl LoadError {
    /// What to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Inspect { source, .. } => source.hint(),
            Self::TooLarge { .. } => {
                Some("strip debug information from it, or raise the sandbox's limit on component size")
            }
            Self::Refused { .. } => Some(
                "a module sees nothing but its arguments: build it without network; of WASI, only cli, io, clocks, random and filesystem may be imported",
            ),
            Self::Generation { newer: true, .. } => {
                Some("update plumbline, or build the module against the older interface")
            }
            Self::Generation { newer: false, .. } => Some("build the module again with a current SDK"),
            Self::NoRole { .. } => Some("export the interface of a role from the WIT package `plumbline:plugin`"),
            Self::Link { .. } => Some(
                "build the module again with the SDK of this release; a module made for a later 0.1.x may need a newer plumbline",
            ),
            Self::CompileLimit { .. } => {
                Some("make the module smaller; in a pod, a higher memory limit leaves more for compiling")
            }
            Self::TooMany { .. } | Self::Compile { .. } => None,
        }
    }
}
