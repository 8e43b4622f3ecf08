//! The input of one call: the result set of a node, with one damaged file.

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_sandbox::{InputFile, ItemSink, ModuleFailure, NoLog, PostProcess};

use super::damage::{Damaged, damage};
use super::random::Random;
use super::seeds::Seed;

/// A result set with one damaged file.
pub(super) struct Input<'a> {
    pub(super) seed: &'a Seed,
    /// The index of the damaged file.
    pub(super) file: usize,
    pub(super) damaged: Damaged,
}

impl<'a> Input<'a> {
    pub(super) fn new(seeds: &'a [Seed], seed: u64, n: u64) -> Option<Self> {
        let mut random = Random::new(seed, n);
        let chosen = random.one(seeds)?;
        let file = random.below(chosen.files.len());
        let bytes = &chosen.files.get(file)?.bytes;
        let other = random.one(seeds).and_then(|other| other.files.first()).map_or(bytes, |file| &file.bytes);
        let damaged = damage(bytes, other, &mut random);
        Some(Self { seed: chosen, file, damaged })
    }

    /// Returns the files that the module receives: path and content.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, Arc<[u8]>)> {
        self.seed.files.iter().enumerate().map(|(at, file)| {
            let bytes = if at == self.file { self.damaged.bytes.as_slice().into() } else { Arc::clone(&file.bytes) };
            (file.path.as_str(), bytes)
        })
    }

    pub(super) fn call(&self) -> Result<(), ModuleFailure> {
        let plugin = &self.seed.plugin;
        let module = plugin.post_processor.wait();
        let module = module.map_err(|error| ModuleFailure::Host(io::Error::other(error.to_string())))?;
        let wall_seconds = plugin.limits.wall_seconds.min(MAX_WALL_SECONDS);
        let limits = ModuleLimits { wall_seconds, ..plugin.limits.clone() };
        let files = self.files().map(|(path, bytes)| InputFile {
            path: path.to_owned(),
            size: bytes.len() as u64,
            open: Box::new(move || Ok(Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>)),
        });
        let call = PostProcess { plugin: &plugin.info(), files: files.collect(), limits: &limits };
        module.post_process(call, &mut Nowhere, &mut NoLog).map(drop)
    }
}

/// Time limit in seconds for one input, even if the definition allows more. Inputs are small, and
/// there are many.
pub(crate) const MAX_WALL_SECONDS: u64 = 10;

/// Discards items. The sandbox has already checked that they are well-formed.
pub(crate) struct Nowhere;

impl ItemSink for Nowhere {
    fn item(&mut self, _: FlatItem) -> io::Result<()> {
        Ok(())
    }
}
