//! The interface `input`: files, read-only, as streams.

use wasmtime::component::Resource;

use super::bindings::post_processor::plumbline::plugin::input::{Host, HostFile};
use crate::call::files::FileHandle;
use crate::call::state::CallState;

impl Host for CallState {}

impl HostFile for CallState {
    fn path(&mut self, file: Resource<FileHandle>) -> wasmtime::Result<String> {
        Ok(self.files.path(file.rep()).unwrap_or_default().to_owned())
    }

    fn size(&mut self, file: Resource<FileHandle>) -> wasmtime::Result<u64> {
        Ok(self.files.size(file.rep()).unwrap_or_default())
    }

    fn read(&mut self, file: Resource<FileHandle>, max: u32) -> wasmtime::Result<Result<Vec<u8>, String>> {
        Ok(self.files.read(file.rep(), max, &self.clock)?)
    }

    fn drop(&mut self, file: Resource<FileHandle>) -> wasmtime::Result<()> {
        self.files.close(file.rep());
        Ok(())
    }
}
