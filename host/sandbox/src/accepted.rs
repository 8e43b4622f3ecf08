//! Components that were checked but not yet compiled.

use std::borrow::Cow;
use std::fmt;

use crate::error::LoadError;
use crate::inspect::{Inspected, ModuleInfo};
use crate::module::Module;
use crate::sandbox::Sandbox;

/// A component that passed all cheap checks. Compiling it may take seconds, so the caller decides
/// where that happens. [`Accepted::load`] on a separate thread does not block anything else.
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
    /// Checks a component as far as possible without compiling it. Errors refer to it as `name`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Sandbox::load`], except for those of the compiler.
    pub fn accept(&self, name: &str, wasm: Vec<u8>) -> Result<Accepted, LoadError> {
        self.accepted(name, wasm.into(), None)
    }

    /// Checks a component like [`Sandbox::accept`], with precompiled `code`. The conditions of
    /// [`Sandbox::load_precompiled`] apply. The code is not read before the module is loaded.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Sandbox::accept`].
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
    /// Returns the name that errors use.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the metadata that [`Module::info`] will return.
    #[must_use]
    pub fn info(&self) -> &ModuleInfo {
        &self.inspected.info
    }

    /// Compiles the component (or loads its code from the cache) and links it. Blocks until that is
    /// done.
    ///
    /// # Errors
    ///
    /// Returns an error if the component is invalid, or if the types of its interfaces differ from
    /// the contract.
    pub fn load(self) -> Result<Module, LoadError> {
        let digest = &self.inspected.digest;
        let component = match self.code {
            Some(code) => self.sandbox.brought_along(&self.name, &self.wasm, digest, code)?,
            None => self.sandbox.compile(&self.name, &self.wasm, digest)?,
        };
        self.sandbox.link(&self.name, self.inspected, &component)
    }
}
