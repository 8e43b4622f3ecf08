//! One call of a post-processor, whose items are counted and dropped.

use std::hint::black_box;
use std::io;
use std::time::Instant;

use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_dev::Result;
use plumbline_sandbox::{CallStats, InputFile, ItemSink, Module, NoLog, PluginInfo, PostProcess};

/// The measurements of a call.
pub(crate) struct Called {
    pub(crate) stats: CallStats,
    /// Number of items.
    pub(crate) items: u64,
    /// Time of the call in seconds.
    pub(crate) seconds: f64,
}

/// Counts items and drops them.
struct Count(u64);

impl ItemSink for Count {
    fn item(&mut self, item: FlatItem) -> io::Result<()> {
        black_box(&item);
        self.0 += 1;
        Ok(())
    }
}

/// Makes one call in a fresh instance.
pub(crate) fn call(module: &Module, files: Vec<InputFile>, limits: &ModuleLimits) -> Result<Called> {
    let plugin =
        PluginInfo { name: "bench".into(), driver: "Job".into(), format: "junit".into(), ..PluginInfo::default() };
    let mut count = Count(0);
    let start = Instant::now();
    let stats = module.post_process(PostProcess { plugin: &plugin, files, limits }, &mut count, &mut NoLog)?;
    Ok(Called { stats, items: count.0, seconds: start.elapsed().as_secs_f64() })
}
