//! A minimal WASI: for language runtimes that cannot start without it, and for checks.
//!
//! There are no arguments. Environment variables and directories are those that a check is granted.
//! Clocks and random numbers work. Standard output and standard error go to the size-limited log of
//! the call.

mod entries;
mod files;
mod ownership;

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_std::fs::Dir;
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksCtxView, WasiClocksView as _};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::Host;
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, random, sync};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::{FsPerms, HostWallClock, WasiCtxBuilder, WasiCtxView, WasiView};

pub(crate) use self::entries::OpenFiles;
use self::files::HasNodeFiles;
pub use self::ownership::{Attributes, Directory};
pub(crate) use self::ownership::{Directories, Recorded};
use crate::call::io::{LogLevel, LogSink};
use crate::call::limits::Clock;
use crate::call::state::CallState;

struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}

/// Opens the directories that a check may read, and adds its environment variables and its clock.
///
/// A directory that does not exist is left out. In one that cannot be opened, nothing is permitted, so
/// that a check does not take its files for missing ones.
pub(crate) fn granted(
    directories: &[Directory],
    env: &[(String, String)],
    now: Option<Duration>,
    owners: Option<Recorded>,
    log: &mut dyn LogSink,
) -> io::Result<(WasiCtxBuilder, Directories)> {
    let (mut wasi, mut opened, mut failed) = (WasiCtxBuilder::new(), Directories::new(owners), Vec::new());
    // The thread of the module has nothing else to do.
    wasi.allow_blocking_current_thread(true).envs(env);
    if let Some(now) = now {
        wasi.wall_clock(FixedClock(now));
    }
    for directory in directories {
        let path = directory.path.as_str();
        match open(directory, &mut wasi) {
            Ok(dir) => opened.add(path, dir),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                log.line(LogLevel::Warning, &format!("the granted directory `{path}` does not exist"));
            }
            Err(error) => failed.push((path, error)),
        }
    }
    for (path, error) in failed {
        if opened.deny(path)? {
            log.line(LogLevel::Warning, &format!("failed to open the granted directory `{path}`: {error}"));
        }
    }
    Ok((wasi, opened))
}

fn open(directory: &Directory, wasi: &mut WasiCtxBuilder) -> io::Result<Dir> {
    let dir = directory.open()?;
    let source = path_of(&dir, &directory.source);
    wasi.preopened_dir(source, &directory.path, FsPerms::ReadOnly)
        .map_err(|error| io::Error::other(error.to_string()))?;
    Ok(dir)
}

/// Returns a path to an open directory, which leads to the same one if `source` changes.
fn path_of(dir: &Dir, source: &Path) -> PathBuf {
    let open = PathBuf::from(format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd()));
    // Without /proc, the path that was opened is left.
    if open.exists() { open } else { source.to_owned() }
}

/// A clock that always shows this time since 1970.
struct FixedClock(Duration);

impl HostWallClock for FixedClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

/// Adds WASI 0.2 without sockets, and with timers that end with the call.
pub(crate) fn add_to_linker(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    type State = CallState;
    let l = linker;
    sync::io::error::add_to_linker::<State, HasTable>(l, |state| state.ctx().table)?;
    sync::io::poll::add_to_linker::<State, HasTable>(l, |state| state.ctx().table)?;
    sync::io::streams::add_to_linker::<State, HasTable>(l, |state| state.ctx().table)?;
    clocks::wall_clock::add_to_linker::<State, WasiClocks>(l, State::clocks)?;
    clocks::monotonic_clock::add_to_linker::<State, HasTimers>(l, |state| {
        let clock = state.wasi.clock.clone();
        Timers { clocks: state.clocks(), clock }
    })?;
    random::random::add_to_linker::<State, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    random::insecure::add_to_linker::<State, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<State, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    filesystem::preopens::add_to_linker::<State, HasNodeFiles>(l, State::node_files)?;
    sync::filesystem::types::add_to_linker::<State, HasNodeFiles>(l, State::node_files)?;
    cli::environment::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::exit::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::stdin::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::stdout::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::stderr::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_input::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_output::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_stdin::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_stdout::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_stderr::add_to_linker::<State, WasiCli>(l, State::cli)?;
    Ok(())
}

pub(crate) struct Timers<'a> {
    clocks: WasiClocksCtxView<'a>,
    clock: Clock,
}

/// The type by which the linker refers to [`Timers`].
pub(crate) struct HasTimers;

impl HasData for HasTimers {
    type Data<'a> = Timers<'a>;
}

/// Returns the remaining time of a call. A timer that is shortened to it fires when the call's time
/// is over, and the guest ends as soon as it resumes.
fn nanoseconds(left: Option<Duration>) -> u64 {
    left.and_then(|left| u64::try_from(left.as_nanos()).ok()).unwrap_or(u64::MAX)
}

impl Host for Timers<'_> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        self.clocks.now()
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        self.clocks.resolution()
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let duration = when.saturating_sub(self.clocks.now()?);
        self.subscribe_duration(duration)
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let duration = duration.min(nanoseconds(self.clock.left()));
        self.clocks.subscribe_duration(duration)
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.wasi.view()
    }
}

#[cfg(test)]
#[path = "wasi_tests.rs"]
mod tests;
