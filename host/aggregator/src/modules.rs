//! Which module stands behind a name: the plugin's own bundle first, then the stock.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_sandbox::{LoadError, ModuleInfo, Sandbox, inspect};

use crate::compile::{Job, Pool};
use crate::lazy::LazyModule;

/// The format that a definition without one, or with one that nobody knows, is read as.
pub const FALLBACK_FORMAT: &str = "raw";
/// Modules that a bundle may carry.
const MAX_BUNDLE_MODULES: usize = 64;
/// Bytes of a format's or module's name.
const MAX_NAME: usize = 128;

/// Why a module cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// The file cannot be read.
    #[error("module `{path}` cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is no module that this host takes.
    #[error("module `{path}` cannot be used: {source}")]
    Load {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: LoadError,
    },
    /// Nobody has a module of this name in this role.
    #[error("{role} `{name}` is not known: it is neither in the plugin's bundle nor one of the stock ({})", known.join(", "))]
    Unknown {
        /// `expectations`, `result-format` or `judge`.
        role: &'static str,
        /// The name asked for.
        name: String,
        /// The names that the stock has.
        known: Vec<String>,
    },
    /// A module that says who must answer, where one that reads results is needed.
    #[error("module `{0}` is no post-processor: it does not read results")]
    Role(PathBuf),
    /// A bundle with too many modules.
    #[error("bundle `{0}` holds more than {MAX_BUNDLE_MODULES} modules")]
    TooMany(PathBuf),
}

/// A post-processor that was found.
#[derive(Clone)]
pub struct PostProcessor {
    /// The module.
    pub module: LazyModule,
    /// What a reader of the results must know: that the format was not known, and what was done.
    pub warning: Option<String>,
}

/// Who says what the results of a plugin come to as a whole.
#[derive(Clone)]
pub enum Summarizer {
    /// The definition names none: the module that reads the results, if it plays this role too.
    Own,
    /// The one that the definition names.
    Named(LazyModule),
    /// Nobody: the definition names one that is not known. A sentence for the reader of the results.
    Unknown(String),
}

/// Carries out what is to be compiled, now or later, on a thread that may block.
pub type Compiler = Arc<dyn Fn(Job) + Send + Sync>;

/// The modules that a run can use. Cheap to clone. Modules of bundles are read and inspected when they are asked for, once for each file; they
/// are compiled beside, once however many plugins bring them along, and what needs the code waits for it ([`LazyModule::wait`]).
#[derive(Clone)]
pub struct Modules {
    inner: Arc<Inner>,
}

struct Inner {
    sandbox: Sandbox,
    stock: Vec<LazyModule>,
    bundles: Mutex<Bundled>,
    compiler: Compiler,
}

/// What was read of bundles so far.
#[derive(Default)]
struct Bundled {
    by_path: BTreeMap<PathBuf, LazyModule>,
    /// By digest, and by the name that failures call it by.
    by_content: BTreeMap<(String, String), LazyModule>,
}

impl Modules {
    /// The modules of `stock`, and those that bundles bring along, run in `sandbox`.
    #[must_use]
    pub fn new(sandbox: Sandbox, stock: impl IntoIterator<Item = impl Into<LazyModule>>) -> Self {
        let pool = Pool::new();
        Self::compiling_with(sandbox, stock, Arc::new(move |job| pool.submit(job)))
    }

    /// As [`Modules::new`], where `compiler` carries out what is to be compiled. It may take its time: who needs a module before it is
    /// compiled, compiles it.
    #[must_use]
    pub fn compiling_with(
        sandbox: Sandbox,
        stock: impl IntoIterator<Item = impl Into<LazyModule>>,
        compiler: Compiler,
    ) -> Self {
        let stock = stock.into_iter().map(Into::into).collect();
        Self { inner: Arc::new(Inner { sandbox, stock, bundles: Mutex::default(), compiler }) }
    }

    /// The post-processor for `format` (empty: [`FALLBACK_FORMAT`]). `bundle` is the directory that the definition came with. A
    /// format that nobody knows falls back to [`FALLBACK_FORMAT`], with a warning.
    ///
    /// # Errors
    /// When the bundle's module of that name cannot be used, or the stock has no fallback.
    pub fn post_processor(&self, bundle: Option<&Path>, format: &str) -> Result<PostProcessor, ModuleError> {
        let wanted = if format.is_empty() { FALLBACK_FORMAT } else { format };
        if let Some(module) = self.find(bundle, wanted, |module| module.info().roles.post_processor)? {
            return Ok(PostProcessor { module, warning: None });
        }
        let module = self
            .find(None, FALLBACK_FORMAT, |module| module.info().roles.post_processor)?
            .ok_or_else(|| self.unknown("result-format", wanted))?;
        let known = self.names().join(", ");
        let shown: String = wanted.chars().take(MAX_NAME).collect();
        let warning = format!(
            "result format `{shown}` is not known (known: {known}): the files were listed as `{FALLBACK_FORMAT}`, not read"
        );
        Ok(PostProcessor { module, warning: Some(warning) })
    }

    /// The module in the file at `path`, as a post-processor for whatever format.
    ///
    /// # Errors
    /// When the file cannot be read, is no module, or plays another role.
    pub fn post_processor_in(&self, path: &Path) -> Result<PostProcessor, ModuleError> {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let failed = |source| ModuleError::Load { path: path.to_owned(), source };
        let accepted = self.inner.sandbox.accept(stem, read(path)?).map_err(failed)?;
        if !accepted.info().roles.post_processor {
            return Err(ModuleError::Role(path.to_owned()));
        }
        let module = LazyModule::new(path, accepted);
        self.start(&module);
        Ok(PostProcessor { module, warning: None })
    }

    /// The expectations of that name.
    ///
    /// # Errors
    /// When nobody has them, or the bundle's module of that name cannot be used. There is no fallback: to expect the wrong
    /// results is worse than not to start.
    pub fn expectations(&self, bundle: Option<&Path>, name: &str) -> Result<LazyModule, ModuleError> {
        self.find(bundle, name, |module| module.info().roles.expectations)?
            .ok_or_else(|| self.unknown("expectations", name))
    }

    /// The summarizer that a definition names, or not.
    ///
    /// # Errors
    /// When the bundle's module of that name cannot be used.
    pub fn summarizer(&self, bundle: Option<&Path>, name: Option<&str>) -> Result<Summarizer, ModuleError> {
        let plays = |module: &LazyModule| module.info().roles.summarizer;
        let Some(name) = name else { return Ok(Summarizer::Own) };
        if let Some(module) = self.find(bundle, name, plays)? {
            return Ok(Summarizer::Named(module));
        }
        let known: Vec<&str> = self
            .inner
            .stock
            .iter()
            .filter(|module| plays(module))
            .flat_map(|module| module.info().formats.iter().map(String::as_str))
            .collect();
        let shown: String = name.chars().take(MAX_NAME).collect();
        Ok(Summarizer::Unknown(format!(
            "summarizer `{shown}` is not known: it is neither in the plugin's bundle nor one of the stock ({}): the results are not summarised",
            known.join(", ")
        )))
    }

    /// The judge of that name.
    ///
    /// # Errors
    /// When nobody has it, or the bundle's module of that name cannot be used. There is no fallback: a verdict without one of its
    /// judges is another verdict.
    pub fn judge(&self, bundle: Option<&Path>, name: &str) -> Result<LazyModule, ModuleError> {
        let plays = |module: &LazyModule| module.info().roles.judge;
        if let Some(module) = self.find(bundle, name, plays)? {
            return Ok(module);
        }
        let judges = self.inner.stock.iter().filter(|module| plays(module));
        let known = judges.flat_map(|module| module.info().formats.clone()).collect();
        Err(ModuleError::Unknown { role: "judge", name: name.chars().take(MAX_NAME).collect(), known })
    }

    /// The file of `bundle` from which the module with this digest was loaded, if it was: everything else is stock.
    pub(crate) fn file_in(&self, bundle: &Path, digest: &str) -> Option<String> {
        let loaded = self.inner.bundles.lock().unwrap_or_else(PoisonError::into_inner);
        let of_bundle =
            |path: &Path, module: &LazyModule| path.parent() == Some(bundle) && module.info().digest == digest;
        let path = loaded.by_path.iter().find(|(path, module)| of_bundle(path, module)).map(|(path, _)| path)?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    fn unknown(&self, role: &'static str, name: &str) -> ModuleError {
        ModuleError::Unknown { role, name: name.chars().take(MAX_NAME).collect(), known: self.names() }
    }

    fn names(&self) -> Vec<String> {
        // What judges answer to is no format of results.
        let reads = self.inner.stock.iter().filter(|module| !module.info().roles.judge);
        reads.flat_map(|module| module.info().formats.clone()).collect()
    }

    fn find(
        &self,
        bundle: Option<&Path>,
        name: &str,
        plays: impl Fn(&LazyModule) -> bool,
    ) -> Result<Option<LazyModule>, ModuleError> {
        if let Some(directory) = bundle {
            for path in module_files(directory)? {
                if let Some(module) = self.bundled(&path, name)?
                    && plays(&module)
                {
                    self.start(&module);
                    return Ok(Some(module));
                }
            }
        }
        let found = self.inner.stock.iter().find(|module| plays(module) && answers_to(module.info(), name));
        Ok(found.inspect(|module| self.start(module)).cloned())
    }

    /// The module at `path` if it answers to `name`: by its file's stem, or by the formats that it says it reads.
    fn bundled(&self, path: &Path, name: &str) -> Result<Option<LazyModule>, ModuleError> {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let loaded = self.inner.bundles.lock().unwrap_or_else(PoisonError::into_inner).by_path.get(path).cloned();
        if let Some(module) = loaded {
            return Ok((stem == name || answers_to(module.info(), name)).then_some(module));
        }
        let bytes = read(path)?;
        if stem != name {
            // A neighbour that cannot even be inspected is no reason to refuse another module of the same bundle.
            match inspect(&bytes) {
                Ok(info) if answers_to(&info, name) => {}
                _ => return Ok(None),
            }
        }
        let accepted = self
            .inner
            .sandbox
            .accept(stem, bytes)
            .map_err(|source| ModuleError::Load { path: path.to_owned(), source })?;
        let content = (accepted.info().digest.clone(), stem.to_owned());
        let mut bundles = self.inner.bundles.lock().unwrap_or_else(PoisonError::into_inner);
        let module = bundles.by_content.entry(content).or_insert_with(|| LazyModule::new(path, accepted)).clone();
        bundles.by_path.insert(path.to_owned(), module.clone());
        Ok(Some(module))
    }

    /// Has a module compiled that is going to be needed.
    fn start(&self, module: &LazyModule) {
        if let Some(job) = module.job() {
            (self.inner.compiler)(job);
        }
    }
}

fn answers_to(info: &ModuleInfo, name: &str) -> bool {
    info.name.as_deref() == Some(name) || info.formats.iter().any(|format| format == name)
}

/// `*.wasm` directly in `directory`, in lexical order.
fn module_files(directory: &Path) -> Result<Vec<PathBuf>, ModuleError> {
    let failed = |source| ModuleError::Read { path: directory.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "wasm") {
            files.push(path);
        }
        if files.len() > MAX_BUNDLE_MODULES {
            return Err(ModuleError::TooMany(directory.to_owned()));
        }
    }
    files.sort();
    Ok(files)
}

/// At most one byte more than the sandbox takes: it says by itself that this is too much.
fn read(path: &Path) -> Result<Vec<u8>, ModuleError> {
    let failed = |source| ModuleError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
