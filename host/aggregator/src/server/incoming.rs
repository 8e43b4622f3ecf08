//! The body of an upload on its way to its final form on disk.
//!
//! Bytes are gathered, because a write per frame would be too expensive.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use plumbline_archive::disk::DiskFile;
use plumbline_core::{DigestWriter, PluginName};

use super::shares::Share;
use super::store::{Shape, Slot, Store, StoreError, Unpacked, unpack};

/// Bytes to gather before a write.
const GATHER: usize = 64 << 10;
/// Maximum number of gathered bytes that wait for a turn. Thousands of uploads may wait.
const WAITING: usize = 4 << 10;

/// A body, of which a part may be on disk. Dropping it removes that part.
pub(super) struct Incoming {
    store: Store,
    plugin: PluginName,
    shape: Shape,
    /// Bytes that are not on disk.
    gathered: Vec<u8>,
    /// The share of the plugin in the memory for them.
    memory: Share,
    /// `None` before the first write.
    written: Option<Written>,
}

impl Incoming {
    pub(super) fn new(store: &Store, plugin: &PluginName, shape: Shape, memory: Share) -> Self {
        let (store, plugin) = (store.clone(), plugin.clone());
        Self { store, plugin, shape, gathered: Vec::new(), memory, written: None }
    }

    /// Adds bytes. Returns whether it is time for [`Incoming::flush`].
    pub(super) fn add(&mut self, piece: &[u8]) -> bool {
        // Copied, because a frame keeps a whole buffer of the connection in memory.
        self.gathered.extend_from_slice(piece);
        // Without memory for more, what is there is written at once.
        self.gathered.len() >= GATHER || !self.memory.grow(piece.len())
    }

    /// Writes what was gathered.
    pub(super) async fn flush(mut self) -> Result<Self, StoreError> {
        blocking(move || {
            let written = match &mut self.written {
                Some(written) => written,
                none => none.insert(Written::create(&self.store, &self.plugin, &self.shape)?),
            };
            written.write(&std::mem::take(&mut self.gathered))?;
            self.memory.clear();
            Ok(self)
        })
        .await
    }

    /// Returns the path of the body. `None` before the first write.
    pub(super) fn path(&self) -> Option<&Path> {
        self.written.as_ref().map(|written| written.slot.body.as_path())
    }

    /// Converts the complete body to its final form, synced: one file, or the files of the archive.
    /// Nothing else changes, so the caller can drop the future.
    pub(super) async fn finish(mut self) -> Result<Unpacked, StoreError> {
        let gate = self.store.gate(&self.shape);
        let permit = match Arc::clone(&gate).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                if self.gathered.len() > WAITING {
                    self = self.flush().await?;
                }
                gate.acquire_owned().await.map_err(io::Error::other)?
            }
        };
        blocking(move || {
            let _permit = permit;
            let Self { store, plugin, shape, gathered, written, memory: _memory } = self;
            let mut written = match written {
                Some(written) => written,
                None => Written::create(&store, &plugin, &shape)?,
            };
            written.write(&gathered)?;
            let Written { slot, file } = written;
            unpack(&store, slot, &shape, file.digest().hex())
        })
        .await
    }
}

/// The part of a body that is on disk.
struct Written {
    slot: Slot,
    file: DigestWriter<DiskFile>,
}

impl Written {
    fn create(store: &Store, plugin: &PluginName, shape: &Shape) -> io::Result<Self> {
        let slot = store.slot(plugin, shape)?;
        let file = DigestWriter::new(store.disk.create(&slot.body)?);
        Ok(Self { slot, file })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.slot.space.take(0, bytes.len() as u64)?;
        Ok(self.file.write_all(bytes)?)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
