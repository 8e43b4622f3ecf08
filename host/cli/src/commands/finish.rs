//! The end of a role that is a plugin itself: the done file, and staying.

use std::path::{Path, PathBuf};

use plumbline_worker::{Shutdown, write_done};

use crate::args::DoneArgs;
use crate::error::CliError;

impl DoneArgs {
    /// Where `output` goes: with `--done`, a relative path counts from the directory for results.
    pub(crate) fn place(&self, output: &Path) -> PathBuf {
        if self.done { self.results_dir.join(output) } else { output.to_owned() }
    }

    /// Says that `output` is complete, and stays, as far as either was asked for.
    pub(crate) fn finish(&self, output: Option<&Path>) -> Result<(), CliError> {
        if let Some(output) = output.filter(|_| self.done) {
            write_done(&self.results_dir, output).map_err(|error| {
                let directory = self.results_dir.display();
                CliError::system(format!("the done file in `{directory}` cannot be written")).because(&error)
            })?;
        }
        if self.stay { stay() } else { Ok(()) }
    }
}

/// Waits for SIGTERM or SIGINT. The first process of a container hears of them only if it asks for it.
fn stay() -> Result<(), CliError> {
    let failed = |error: &std::io::Error| CliError::system("this process cannot stay").because(error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    runtime.block_on(async {
        let shutdown = Shutdown::new();
        tokio::select! {
            error = shutdown.follow_signals() => Err(failed(&error)),
            () = shutdown.draining() => Ok(()),
        }
    })
}
