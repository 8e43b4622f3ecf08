//! A component that was looked at, and not yet compiled.

use std::borrow::Cow;
use std::fmt;

use crate::error::LoadError;
use crate::inspect::{Inspected, ModuleInfo};
use crate::module::Module;
use crate::sandbox::Sandbox;

/// A component that passed every check that costs next to nothing. Compiling it may take seconds, and is done where the caller wants it:
/// [`Accepted::load`] on a thread of its own lets everything else go on.
pub struct Accepted {
    sandbox: Sandbox,
    name: String,
    wasm: Cow<'static, [u8]>,
    /// Code that was compiled when the program was built.
    code: Option<&'static [u8]>,
    inspected: Inspected,
}

impl fmt::Debug for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepted").field("name", &self.name).field("bytes", &self.wasm.len()).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Checks a component as far as that goes without compiling it. Failures will call it `name`.
    ///
    /// # Errors
    /// As for [`Sandbox::load`], but for what only the compiler finds.
    pub fn accept(&self, name: &str, wasm: Vec<u8>) -> Result<Accepted, LoadError> {
        self.accepted(name, wasm.into(), None)
    }

    /// As [`Sandbox::accept`], with `code` under the conditions of [`Sandbox::load_precompiled`]: nothing of it is read before the
    /// module is loaded.
    ///
    /// # Errors
    /// As for [`Sandbox::accept`].
    pub fn accept_precompiled(
        &self,
        name: &str,
        wasm: &'static [u8],
        code: &'static [u8],
    ) -> Result<Accepted, LoadError> {
        self.accepted(name, wasm.into(), Some(code))
    }

    fn accepted(
        &self,
        name: &str,
        wasm: Cow<'static, [u8]>,
        code: Option<&'static [u8]>,
    ) -> Result<Accepted, LoadError> {
        let mut inspected = self.check(name, &wasm)?;
        inspected.info.fill_in(name);
        Ok(Accepted { sandbox: self.clone(), name: name.to_owned(), wasm, code, inspected })
    }
}

impl Accepted {
    /// The name that failures will call it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, as [`Module::info`] will say.
    #[must_use]
    pub fn info(&self) -> &ModuleInfo {
        &self.inspected.info
    }

    /// Compiles it (or takes its code from the cache) and links it. Blocks as long as that takes.
    ///
    /// # Errors
    /// When it is not valid, or its interfaces have other types than the contract's.
    pub fn load(self) -> Result<Module, LoadError> {
        let digest = &self.inspected.digest;
        let component = match self.code {
            Some(code) => self.sandbox.brought_along(&self.name, &self.wasm, digest, code)?,
            None => self.sandbox.compile(&self.name, &self.wasm, digest)?,
        };
        self.sandbox.link(&self.name, self.inspected, &component)
    }
}
