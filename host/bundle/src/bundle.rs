//! Bundles in a directory.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use plumbline_core::definition::{Definition, is_module_name};
use plumbline_sandbox::{ModuleInfo, inspect};

use crate::error::{BundleError, BundleWarning};
use crate::limits::{MAX_BUNDLE_BYTES, MAX_MODULES, MAX_WARNINGS};
use crate::profile::{PROFILE_FILE, Profile, ProfileError};
use crate::selection::{DEFINITION_FILES, Selection, name_in_bundle};
use crate::ustar::{Packed, Writer};
use crate::walk;
use plumbline_core::Digest;

/// A bundle in a directory: the definition of a plugin, its modules, and its other files.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// Directory of the bundle.
    pub dir: PathBuf,
    /// Definition of the plugin.
    pub definition: Definition,
    /// Digest of the definition's file.
    pub definition_digest: Digest,
    /// Profile of the suite that the plugin runs, if the bundle has one.
    pub profile: Option<Profile>,
    /// Suspicious things that were found, for people to read.
    pub warnings: Vec<BundleWarning>,
    /// The modules, sorted by file name.
    pub modules: Vec<ModuleFile>,
    /// All files including modules, sorted by name. Other files in the directory are not part of
    /// the bundle.
    pub files: Vec<BundleFile>,
    packed: Packed,
}

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleFile {
    /// Name relative to the bundle's directory, with `/` as the separator.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Whether the owner may execute the file.
    pub executable: bool,
}

/// A module of a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleFile {
    /// File name of the module, directly in the bundle's directory.
    pub file: String,
    /// Name that definitions use for the module: the file name without `.wasm`.
    pub name: String,
    /// Digest of the file.
    pub digest: Digest,
    /// What the module reports about itself.
    pub info: ModuleInfo,
}

impl Bundle {
    /// Opens the bundle in `dir`: reads the definition, selects files, inspects modules, and
    /// computes the digest. Every file is read once (about 50 ms for 20 MiB).
    ///
    /// # Errors
    /// Also when a `NAME.wasm` is not a component.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, BundleError> {
        let dir = dir.as_ref();
        let is_there = |name: &&str| dir.join(name).symlink_metadata().is_ok();
        let file = DEFINITION_FILES.into_iter().find(is_there);
        let file = file.ok_or_else(|| BundleError::NoDefinition(dir.to_owned()))?;
        let path = dir.join(file);
        let (text, _) = walk::read(dir, file)?;
        let parsed =
            Definition::parse_bytes(&text).map_err(|source| BundleError::Definition { path: path.clone(), source })?;
        let profile = read_profile(dir, &parsed.definition)?;
        let selection = Selection::of(file, &parsed.definition, profile.as_ref())
            .map_err(|why| BundleError::Pattern { path, why })?;
        let names = walk::walk(dir, &selection)?;
        if let Some(source) = profile.as_ref().and_then(|profile| missing_file(profile, &names)) {
            return Err(BundleError::Profile { path: dir.join(PROFILE_FILE), source });
        }
        let mut content = Content { dir, bytes: 0, files: Vec::new(), modules: Vec::new() };
        let packed = write(&names, io::sink(), &mut |name| content.take(name))?;
        let Content { files, modules, .. } = content;

        let mut bundle = Self {
            dir: dir.to_owned(),
            definition: parsed.definition,
            definition_digest: Digest::of(&text),
            profile,
            warnings: parsed.warnings.into_iter().map(BundleWarning::Definition).collect(),
            modules,
            files,
            packed,
        };
        bundle.look_for_oddities(&selection);
        Ok(bundle)
    }

    /// Returns the digest of the tar that [`Bundle::pack`] writes. It depends only on file names,
    /// file contents and execute permissions.
    pub fn digest(&self) -> Digest {
        self.packed.digest
    }

    /// Returns the size of the tar in bytes.
    pub fn packed_bytes(&self) -> u64 {
        self.packed.bytes
    }

    /// Returns the name of the plugin.
    pub fn name(&self) -> &str {
        self.definition.name.as_str()
    }

    /// Returns the file name of the tar: `NAME.bundle.tar`.
    pub fn file_name(&self) -> String {
        format!("{}.bundle.tar", self.name())
    }

    /// Writes the bundle to `to` as a tar. The same content always yields the same bytes.
    ///
    /// # Errors
    /// [`BundleError::Changed`] when a file has changed since the bundle was opened.
    pub fn pack(&self, to: impl Write) -> Result<Packed, BundleError> {
        let names: Vec<String> = self.files.iter().map(|file| file.name.clone()).collect();
        let packed = write(&names, to, &mut |name| walk::read(&self.dir, name))?;
        if packed == self.packed { Ok(packed) } else { Err(BundleError::Changed(self.dir.clone())) }
    }

    fn look_for_oddities(&mut self, selection: &Selection) {
        let names: Vec<&str> = self.files.iter().map(|file| file.name.as_str()).collect();
        let mut odd = Vec::new();
        let mut lower: BTreeMap<String, &str> = BTreeMap::new();
        for name in &names {
            if let Some(other) = lower.insert(name.to_lowercase(), name) {
                odd.push(BundleWarning::Case(other.to_owned(), (*name).to_owned()));
            }
        }
        let unnamed = self.modules.iter().filter(|module| !is_module_name(&module.name));
        odd.extend(unnamed.map(|module| BundleWarning::ModuleName(module.file.clone())));
        odd.extend(selection.idle(&names).into_iter().map(|pattern| BundleWarning::Idle(pattern.to_owned())));
        if let Some(check) = &self.definition.plumbline.component
            && !names.contains(&check.as_str())
        {
            odd.push(BundleWarning::NoCheck(check.clone()));
        }
        let words = self.definition.spec.command().iter().chain(self.definition.spec.args()).skip(1);
        if let Some(command) = selection.command() {
            match self.files.iter().find(|file| file.name == command) {
                None => odd.push(BundleWarning::NoCommand(command.to_owned())),
                Some(file) if !file.executable => odd.push(BundleWarning::NotExecutable(command.to_owned())),
                Some(_) => {}
            }
        }
        let local = self.profile.iter().flat_map(Profile::files).find(|(key, _)| *key == "local.command");
        if let Some((_, program)) = local
            && self.files.iter().any(|file| file.name == program && !file.executable)
        {
            odd.push(BundleWarning::NotExecutable(program));
        }
        for word in words {
            if let Some(name) = name_in_bundle(&self.definition, word)
                && !names.contains(&name.as_str())
                && self.dir.join(&name).is_file()
            {
                odd.push(BundleWarning::NotPacked(name));
            }
        }
        self.warnings.extend(odd);
        if self.warnings.len() > MAX_WARNINGS {
            self.warnings.truncate(MAX_WARNINGS);
            self.warnings.push(BundleWarning::More);
        }
    }
}

fn read_profile(dir: &Path, definition: &Definition) -> Result<Option<Profile>, BundleError> {
    if dir.join(PROFILE_FILE).symlink_metadata().is_err() {
        return Ok(None);
    }
    let (text, _) = walk::read(dir, PROFILE_FILE)?;
    let failed = |source| BundleError::Profile { path: dir.join(PROFILE_FILE), source };
    parse_profile(&text, definition).map(Some).map_err(failed)
}

pub(crate) fn parse_profile(text: &[u8], definition: &Definition) -> Result<Profile, ProfileError> {
    let profile = Profile::parse(text)?;
    match profile.name == definition.name {
        true => Ok(profile),
        false => {
            Err(ProfileError::OtherPlugin { profile: profile.name.to_string(), plugin: definition.name.to_string() })
        }
    }
}

/// Returns an error about a file that the profile names, if `names` has none that fits.
pub(crate) fn missing_file<'a>(
    profile: &Profile,
    names: impl IntoIterator<Item = &'a String> + Clone,
) -> Option<ProfileError> {
    let fits = |pattern: &str, name: &str| match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => name.starts_with(start) && name.ends_with(end) && name.len() > start.len() + end.len(),
    };
    let missing = |(_, pattern): &(&str, String)| !names.clone().into_iter().any(|name| fits(pattern, name));
    profile.files().find(missing).map(|(key, file)| ProfileError::NoFile { key, file })
}

/// Reads a file by name and returns its content and whether it is executable.
type ReadFile<'a> = dyn FnMut(&str) -> Result<(Vec<u8>, bool), BundleError> + 'a;

fn write(names: &[String], to: impl Write, read: &mut ReadFile<'_>) -> Result<Packed, BundleError> {
    let mut writer = Writer::new(to);
    for name in names {
        let (content, executable) = read(name)?;
        writer.file(name, executable, &content).map_err(BundleError::Write)?;
    }
    writer.finish().map_err(BundleError::Write)
}

/// Files and modules, collected while the digest is computed.
struct Content<'a> {
    dir: &'a Path,
    bytes: u64,
    files: Vec<BundleFile>,
    modules: Vec<ModuleFile>,
}

impl Content<'_> {
    fn take(&mut self, name: &str) -> Result<(Vec<u8>, bool), BundleError> {
        let (content, executable) = walk::read(self.dir, name)?;
        let bytes = content.len() as u64;
        self.bytes += bytes;
        if self.bytes > MAX_BUNDLE_BYTES {
            return Err(BundleError::TooManyBytes(self.dir.to_owned()));
        }
        if let Some(stem) = name.strip_suffix(".wasm").filter(|stem| !stem.contains('/')) {
            let info = inspect(&content).map_err(|source| BundleError::Module { file: name.to_owned(), source })?;
            if self.modules.len() == MAX_MODULES {
                return Err(BundleError::TooManyModules(self.dir.to_owned()));
            }
            // `inspect` has already computed the digest.
            let digest = format!("sha256:{}", info.digest).parse().unwrap_or_else(|_| Digest::of(&content));
            self.modules.push(ModuleFile { file: name.to_owned(), name: stem.to_owned(), digest, info });
        }
        self.files.push(BundleFile { name: name.to_owned(), bytes, executable });
        Ok((content, executable))
    }
}
