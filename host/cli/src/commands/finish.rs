//! Finishes a role that is itself a plugin: writes the done file, and stays if requested.

use std::io;
use std::path::{Path, PathBuf};

use plumbline_app::AppError;
use plumbline_worker::write_done;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::DoneArgs;

impl DoneArgs {
    /// Resolves the path of `output`. With `--done`, a relative path is relative to the results
    /// directory.
    pub(crate) fn place(&self, output: &Path) -> PathBuf {
        if self.done { self.results_dir.join(output) } else { output.to_owned() }
    }

    /// Installs signal handlers before the work, so that a signal during it is not lost.
    pub(crate) fn prepare(&self) -> Result<Ending<'_>, AppError> {
        let stay = self.stay.then(Stay::prepare).transpose();
        let stay = stay.map_err(|error| AppError::system("this process cannot stay").because(&error))?;
        Ok(Ending { args: self, stay })
    }
}

/// The steps after the work.
pub(crate) struct Ending<'a> {
    args: &'a DoneArgs,
    stay: Option<Stay>,
}

impl Ending<'_> {
    /// Writes the done file for `output`, and stays, each if requested.
    pub(crate) fn finish(self, output: Option<&Path>) -> Result<(), AppError> {
        if let Some(output) = output.filter(|_| self.args.done) {
            let directory = &self.args.results_dir;
            write_done(directory, output).map_err(|error| {
                AppError::system(format!("failed to write the done file in `{}`", directory.display())).because(&error)
            })?;
        }
        if let Some(stay) = self.stay {
            stay.until_told();
        }
        Ok(())
    }
}

/// Waits for SIGTERM or SIGINT. The first process of a container receives them only with a handler.
struct Stay {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
}

impl Stay {
    fn prepare() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let inside = runtime.enter();
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        drop(inside);
        Ok(Self { runtime, terminate, interrupt })
    }

    fn until_told(mut self) {
        self.runtime.block_on(async {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
        });
    }
}
