//! The end of a role that is a plugin itself: the done file, and staying.

use std::io;
use std::path::{Path, PathBuf};

use plumbline_app::AppError;
use plumbline_worker::write_done;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::DoneArgs;

impl DoneArgs {
    /// Where `output` goes: with `--done`, a relative path counts from the directory for results.
    pub(crate) fn place(&self, output: &Path) -> PathBuf {
        if self.done { self.results_dir.join(output) } else { output.to_owned() }
    }

    /// Before the work: a signal that comes during it is not lost.
    pub(crate) fn prepare(&self) -> Result<Ending<'_>, AppError> {
        let stay = self.stay.then(Stay::prepare).transpose();
        let stay = stay.map_err(|error| AppError::system("this process cannot stay").because(&error))?;
        Ok(Ending { args: self, stay })
    }
}

/// What is left to do after the work.
pub(crate) struct Ending<'a> {
    args: &'a DoneArgs,
    stay: Option<Stay>,
}

impl Ending<'_> {
    /// Says that `output` is complete, and stays, as far as either was asked for.
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

/// Waits for SIGTERM or SIGINT. The first process of a container hears of them only if it asks for it.
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
