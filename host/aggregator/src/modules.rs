//! Lookup of modules by name and role: first in the plugin's bundle, then among the built-in
//! modules.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use plumbline_core::definition::{AUTO_FORMAT, RAW_FORMAT};
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_sandbox::{ModuleInfo, Sandbox, inspect};

use crate::compile::{Job, Pool};
use crate::lazy::{LazyModule, MAX_BUNDLE_MODULES, ModuleError};

/// File that marks a directory as a project, whose modules `plumbline plugin build` builds.
const PROJECT_FILE: &str = "module.yaml";
/// Maximum length of a format's or module's name in a message, in characters.
const MAX_NAME: usize = 128;

/// Runs compilation jobs, now or later, on a thread that may block.
pub type Compiler = Arc<dyn Fn(Job) + Send + Sync>;

/// The modules of a run. Cheap to clone. Modules of bundles are read and inspected on first use,
/// once per file. They are compiled in the background, only once even if several plugins have the
/// same module. Calls wait for the compilation ([`LazyModule::wait`]).
#[derive(Clone)]
pub struct Modules {
    inner: Arc<Inner>,
}

struct Inner {
    sandbox: Sandbox,
    built_in: Vec<LazyModule>,
    bundles: Mutex<Bundled>,
    compiler: Compiler,
}

/// Modules of bundles that were read so far.
#[derive(Default)]
struct Bundled {
    by_path: BTreeMap<PathBuf, LazyModule>,
    /// By digest and by name, because error messages contain the name.
    by_content: BTreeMap<(String, String), LazyModule>,
}

impl Modules {
    /// Creates a set of modules. `built_in` and the modules of bundles run in `sandbox`.
    #[must_use]
    pub fn new(sandbox: Sandbox, built_in: impl IntoIterator<Item = impl Into<LazyModule>>) -> Self {
        let pool = Pool::new();
        Self::compiling_with(sandbox, built_in, Arc::new(move |job| pool.submit(job)))
    }

    /// Creates a set of modules like [`Modules::new`], with `compiler` to run compilation jobs. It
    /// can be slow: a call that needs a module before it is compiled compiles it itself.
    #[must_use]
    pub fn compiling_with(
        sandbox: Sandbox,
        built_in: impl IntoIterator<Item = impl Into<LazyModule>>,
        compiler: Compiler,
    ) -> Self {
        let built_in = built_in.into_iter().map(Into::into).collect();
        Self { inner: Arc::new(Inner { sandbox, built_in, bundles: Mutex::default(), compiler }) }
    }

    /// Returns the post-processor for `format`. An empty format and `auto` mean [`RAW_FORMAT`].
    /// `bundle` is the directory of the plugin's bundle.
    ///
    /// # Errors [`ModuleError::Unknown`] for a format that no module reads, because unread results would pass. Other errors when the bundle's module of that name is unusable.
    pub fn post_processor(&self, bundle: Option<&Path>, format: &str) -> Result<LazyModule, ModuleError> {
        let wanted = if format.is_empty() || format == AUTO_FORMAT { RAW_FORMAT } else { format };
        self.required(bundle, "result format", wanted, |module| module.info().roles.post_processor)
    }

    /// Returns the post-processors that detect their files, in order: those of the bundle, then the
    /// built-in ones.
    ///
    /// # Errors
    /// When a module of the bundle is unusable.
    pub fn detectors(&self, bundle: Option<&Path>) -> Result<Vec<LazyModule>, ModuleError> {
        let detects = |module: &LazyModule| module.info().roles.post_processor && !module.info().detect.is_empty();
        let mut detectors = Vec::new();
        for path in bundle.map(module_files).transpose()?.unwrap_or_default() {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            detectors.extend(self.bundled(&path, stem)?.filter(detects));
        }
        detectors.extend(self.inner.built_in.iter().filter(|module| detects(module)).cloned());
        detectors.iter().for_each(|module| self.start(module));
        Ok(detectors)
    }

    /// Returns the module in the file `path` as a post-processor for any format.
    ///
    /// # Errors
    /// When the file is not readable, is not a module, or has another role.
    pub fn post_processor_in(&self, path: &Path) -> Result<LazyModule, ModuleError> {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let failed = |source| ModuleError::Load { path: path.to_owned(), source };
        let accepted = self.inner.sandbox.accept(stem, read(path)?).map_err(failed)?;
        if !accepted.info().roles.post_processor {
            return Err(ModuleError::Role(path.to_owned()));
        }
        let module = LazyModule::new(path, accepted);
        self.start(&module);
        Ok(module)
    }

    /// Returns the expectations module named `name`.
    ///
    /// # Errors
    /// When no module has that name and role, or the bundle's module of that name is unusable.
    pub fn expectations(&self, bundle: Option<&Path>, name: &str) -> Result<LazyModule, ModuleError> {
        self.required(bundle, "expectations", name, |module| module.info().roles.expectations)
    }

    /// Returns the summarizer named `name`.
    ///
    /// # Errors
    /// When no module has that name and role, or the bundle's module of that name is unusable.
    pub fn summarizer(&self, bundle: Option<&Path>, name: &str) -> Result<LazyModule, ModuleError> {
        self.required(bundle, "summarizer", name, |module| module.info().roles.summarizer)
    }

    /// Returns the judge named `name`.
    ///
    /// # Errors
    /// When no module has that name and role, or the bundle's module of that name is unusable.
    pub fn judge(&self, bundle: Option<&Path>, name: &str) -> Result<LazyModule, ModuleError> {
        self.required(bundle, "judge", name, |module| module.info().roles.judge)
    }

    /// Returns the module with this name and role. There is no fallback, because another module
    /// than the one in the definition would lead to another verdict.
    fn required(
        &self,
        bundle: Option<&Path>,
        role: &'static str,
        name: &str,
        implements: impl Fn(&LazyModule) -> bool,
    ) -> Result<LazyModule, ModuleError> {
        if let Some(module) = self.find(bundle, name, &implements)? {
            return Ok(module);
        }
        let built_in = self.inner.built_in.iter().filter(|module| implements(module));
        let known = built_in.flat_map(|module| module.info().formats.clone()).collect();
        let unbuilt = bundle.filter(|directory| directory.join(PROJECT_FILE).is_file());
        let unbuilt = match unbuilt {
            Some(directory) if module_files(directory)?.is_empty() => Some(directory.to_owned()),
            _ => None,
        };
        Err(ModuleError::Unknown { role, name: name.chars().take(MAX_NAME).collect(), known, unbuilt })
    }

    /// Returns the file of `bundle` from which the module with this digest was loaded. `None` means
    /// that the module is built in.
    pub(crate) fn file_in(&self, bundle: &Path, digest: &str) -> Option<String> {
        let loaded = self.inner.bundles.lock().unwrap_or_else(PoisonError::into_inner);
        let of_bundle =
            |path: &Path, module: &LazyModule| path.parent() == Some(bundle) && module.info().digest == digest;
        let path = loaded.by_path.iter().find(|(path, module)| of_bundle(path, module)).map(|(path, _)| path)?;
        Some(path.file_name()?.to_string_lossy().into_owned())
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
        let found = self.inner.built_in.iter().find(|module| plays(module) && answers_to(module.info(), name));
        Ok(found.inspect(|module| self.start(module)).cloned())
    }

    /// Returns the module at `path` if it matches `name`: by its file name without extension, its
    /// own name, or one of its formats.
    fn bundled(&self, path: &Path, name: &str) -> Result<Option<LazyModule>, ModuleError> {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let loaded = self.inner.bundles.lock().unwrap_or_else(PoisonError::into_inner).by_path.get(path).cloned();
        if let Some(module) = loaded {
            return Ok((stem == name || answers_to(module.info(), name)).then_some(module));
        }
        let bytes = read(path)?;
        if stem != name {
            // A module that cannot be inspected must not make another module of the same bundle
            // unusable.
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

    /// Starts the compilation of a module that will be needed.
    fn start(&self, module: &LazyModule) {
        if let Some(job) = module.job() {
            (self.inner.compiler)(job);
        }
    }
}

fn answers_to(info: &ModuleInfo, name: &str) -> bool {
    info.name.as_deref() == Some(name) || info.formats.iter().any(|format| format == name)
}

/// Returns the files `*.wasm` directly in `directory`, in lexical order.
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

/// Reads at most one byte more than the sandbox accepts, so that the sandbox reports a module that
/// is too large.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ModuleError> {
    let failed = |source| ModuleError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
