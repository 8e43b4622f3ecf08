//! Modules by name and role.
//!
//! Modules are found first in the plugin's bundle, then among the built-in modules. They are read
//! and inspected at once, and compiled in the background.

mod compile;
mod error;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use plumbline_core::definition::{AUTO_FORMAT, Definition, RAW_FORMAT};
use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_sandbox::{Accepted, ModuleInfo, Sandbox, inspect};

use compile::Pool;
pub use compile::{Compiler, Job, LazyModule};
use error::MAX_BUNDLE_MODULES;
pub use error::ModuleError;

/// File that marks a directory as a project, whose modules `plumbline plugin build` builds.
const PROJECT_FILE: &str = "module.yaml";
/// Maximum length of a format's or module's name in a message, in characters.
const MAX_NAME: usize = 128;

/// The modules of a run. Cheap to clone. Those of bundles are inspected on first use. Each is
/// compiled once, in the background, and calls wait for that ([`LazyModule::wait`]).
#[derive(Clone)]
pub struct Modules {
    sandbox: Sandbox,
    built_in: Arc<[LazyModule]>,
    bundles: Arc<Mutex<BundleModules>>,
    compiler: Compiler,
}

/// Modules of bundles that were read so far.
#[derive(Default)]
struct BundleModules {
    by_path: BTreeMap<PathBuf, LazyModule>,
    /// By digest and by name, which error messages contain.
    by_content: BTreeMap<(String, String), LazyModule>,
}

impl Modules {
    /// Creates a set of modules. `built_in` and the modules of bundles run in `sandbox`.
    pub fn new(sandbox: Sandbox, built_in: impl IntoIterator<Item = impl Into<LazyModule>>) -> Self {
        let pool = Pool::default();
        Self::compiling_with(sandbox, built_in, Arc::new(move |job| pool.submit(job)))
    }

    /// Creates a set of modules like [`Modules::new`]. A call that needs a module before `compiler`
    /// has compiled it compiles it itself.
    pub fn compiling_with(
        sandbox: Sandbox,
        built_in: impl IntoIterator<Item = impl Into<LazyModule>>,
        compiler: Compiler,
    ) -> Self {
        Self { sandbox, built_in: built_in.into_iter().map(Into::into).collect(), bundles: Arc::default(), compiler }
    }

    /// Returns the post-processor for `format`. An empty format and `auto` mean [`RAW_FORMAT`].
    /// `bundle` is the directory of the plugin's bundle.
    ///
    /// # Errors
    /// [`ModuleError::Unknown`] for a format that no module reads, because unread results would
    /// pass. Other errors when the bundle's module of that name is unusable.
    pub fn post_processor(&self, bundle: Option<&Path>, format: &str) -> Result<LazyModule, ModuleError> {
        let wanted = if format.is_empty() || format == AUTO_FORMAT { RAW_FORMAT } else { format };
        self.required(bundle, "result format", wanted, |module| module.info().roles.post_processor)
    }

    /// Returns the post-processors that detect their files: those of the bundle first.
    pub fn detectors(&self, bundle: Option<&Path>) -> Result<Vec<LazyModule>, ModuleError> {
        let detects = |module: &LazyModule| module.info().roles.post_processor && !module.info().detect.is_empty();
        let mut detectors = Vec::new();
        for path in bundle.map(module_files).transpose()?.unwrap_or_default() {
            detectors.extend(self.bundled(&path, stem(&path))?.filter(detects));
        }
        detectors.extend(self.built_in.iter().filter(|module| detects(module)).cloned());
        detectors.iter().for_each(|module| module.start(&self.compiler));
        Ok(detectors)
    }

    /// Returns the module in the file `path` as a post-processor for any format.
    pub fn post_processor_in(&self, path: &Path) -> Result<LazyModule, ModuleError> {
        let accepted = self.accept(path, read(path)?)?;
        if !accepted.info().roles.post_processor {
            return Err(ModuleError::Role(path.to_owned()));
        }
        let module = LazyModule::new(path.to_owned(), accepted);
        module.start(&self.compiler);
        Ok(module)
    }

    /// Returns the expectations module named `name`.
    pub fn expectations(&self, bundle: Option<&Path>, name: &str) -> Result<LazyModule, ModuleError> {
        self.required(bundle, "expectations", name, |module| module.info().roles.expectations)
    }

    /// Returns the summarizer named `name`.
    pub fn summarizer(&self, bundle: Option<&Path>, name: &str) -> Result<LazyModule, ModuleError> {
        self.required(bundle, "summarizer", name, |module| module.info().roles.summarizer)
    }

    /// Returns the judge named `name`.
    pub fn judge(&self, bundle: Option<&Path>, name: &str) -> Result<LazyModule, ModuleError> {
        self.required(bundle, "judge", name, |module| module.info().roles.judge)
    }

    /// Returns the check that `definition` runs, or `None` if the plugin runs an image or a
    /// command. A check runs elsewhere, so it is not compiled.
    ///
    /// # Errors
    /// When the bundle has no such file, it is unusable or not a check, or it needs further rights.
    pub fn check(&self, bundle: Option<&Path>, definition: &Definition) -> Result<Option<LazyModule>, ModuleError> {
        let Some(file) = &definition.plumbline.component else { return Ok(None) };
        let absent = |unbuilt| ModuleError::NoCheck { file: file.clone(), unbuilt };
        let directory = bundle.ok_or_else(|| absent(None))?;
        let path = directory.join(file);
        if !path.is_file() {
            return Err(absent(directory.join(PROJECT_FILE).is_file().then(|| directory.to_owned())));
        }
        let accepted = self.accept(&path, read(&path)?)?;
        if !accepted.info().roles.check {
            return Err(ModuleError::NotACheck(path));
        }
        let missing = accepted.info().rights.missing(&definition.plumbline.grants);
        if !missing.is_empty() {
            return Err(ModuleError::Rights { file: file.clone(), missing: Box::new(missing) });
        }
        Ok(Some(LazyModule::new(path, accepted)))
    }

    /// Returns the module with this name and role. Another one would lead to another verdict.
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
        let built_in = self.built_in.iter().filter(|module| implements(module));
        let known = built_in.flat_map(|module| module.info().formats.clone()).collect();
        let unbuilt = match bundle {
            Some(project) if project.join(PROJECT_FILE).is_file() && module_files(project)?.is_empty() => {
                Some(project.to_owned())
            }
            _ => None,
        };
        Err(ModuleError::Unknown { role, name: name.chars().take(MAX_NAME).collect(), known, unbuilt })
    }

    /// Returns the file of `bundle` with this module, or `None` if the module is built in.
    pub(crate) fn file_in(&self, bundle: &Path, digest: &str) -> Option<String> {
        let loaded = self.bundles.lock();
        let mut of_bundle = loaded.by_path.iter().filter(|(path, _)| path.parent() == Some(bundle));
        let (path, _) = of_bundle.find(|(_, module)| module.info().digest == digest)?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    fn find(
        &self,
        bundle: Option<&Path>,
        name: &str,
        implements: impl Fn(&LazyModule) -> bool,
    ) -> Result<Option<LazyModule>, ModuleError> {
        if let Some(directory) = bundle {
            for path in module_files(directory)? {
                if let Some(module) = self.bundled(&path, name)?
                    && implements(&module)
                {
                    module.start(&self.compiler);
                    return Ok(Some(module));
                }
            }
        }
        let found = self.built_in.iter().find(|module| implements(module) && answers_to(module.info(), name));
        Ok(found.inspect(|module| module.start(&self.compiler)).cloned())
    }

    /// Returns the module at `path` if its file name, its own name or a format is `name`.
    fn bundled(&self, path: &Path, name: &str) -> Result<Option<LazyModule>, ModuleError> {
        let stem = stem(path);
        let loaded = self.bundles.lock().by_path.get(path).cloned();
        if let Some(module) = loaded {
            return Ok((stem == name || answers_to(module.info(), name)).then_some(module));
        }
        let bytes = read(path)?;
        if stem != name {
            // Another module of the bundle must stay usable.
            match inspect(&bytes) {
                Ok(info) if answers_to(&info, name) => {}
                _ => return Ok(None),
            }
        }
        let accepted = self.accept(path, bytes)?;
        let content = (accepted.info().digest.clone(), stem.to_owned());
        let mut bundles = self.bundles.lock();
        let module =
            bundles.by_content.entry(content).or_insert_with(|| LazyModule::new(path.to_owned(), accepted)).clone();
        bundles.by_path.insert(path.to_owned(), module.clone());
        Ok(Some(module))
    }

    fn accept(&self, path: &Path, bytes: Vec<u8>) -> Result<Accepted, ModuleError> {
        let accepted = self.sandbox.accept(stem(path), bytes);
        accepted.map_err(|source| ModuleError::Load { path: path.to_owned(), source })
    }
}

/// Returns the name of a module's file without its extension.
fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
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

/// Reads one byte more than the sandbox accepts, so that it reports a module that is too large.
fn read(path: &Path) -> Result<Vec<u8>, ModuleError> {
    let failed = |source| ModuleError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(MAX_COMPONENT_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
