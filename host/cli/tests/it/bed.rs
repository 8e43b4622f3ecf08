//! A temporary directory for each test, with a home directory in it, and the binary.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::filter::filtered;
use crate::output_keys;

/// Longer than anything here takes, even on a busy machine. A test that waits this long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// The directory of one test.
pub(crate) struct Bed {
    dir: TempDir,
}

/// A command that has exited.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, and creates its parent directories.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes `NAME.yaml`, the definition of a plugin that runs the shell script `script`. `config`
    /// has further lines of `sonobuoy-config`.
    pub(crate) fn plugin(&self, name: &str, config: &str, script: &str) {
        let script: String = script.lines().map(|line| format!("    {}\n", line.trim())).collect();
        let config: String = config.lines().map(|line| format!("  {}\n", line.trim())).collect();
        let driver = if config.contains("driver:") { "" } else { "  driver: Process\n" };
        let yaml = format!(
            "sonobuoy-config:\n  plugin-name: {name}\n{driver}{config}spec:\n  name: plugin\n  command: [sh, -euc]\n  args:\n  - |\n{script}"
        );
        self.write(&format!("{name}.yaml"), &yaml);
    }

    /// Returns the binary with `args`, in this directory. It has its own home directory, and none
    /// of the caller's variables that change its behaviour.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.program(Path::new(env!("CARGO_BIN_EXE_plumbline")), args)
    }

    /// Returns `plumbline-dev` with `args`, in the same environment.
    pub(crate) fn dev(&self, args: &[&str]) -> Command {
        self.program(&dev_program(), args)
    }

    /// Returns a program with `args`, in the same environment.
    pub(crate) fn program(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.root()).env("HOME", self.path("home"));
        for (name, dir) in [
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
        ] {
            command.env(name, self.path("home").join(dir));
        }
        for name in [
            "CI",
            "GITHUB_ACTIONS",
            "TF_BUILD",
            "TEAMCITY_VERSION",
            "COLUMNS",
            "LINES",
            "NO_COLOR",
            "CLICOLOR_FORCE",
            "CHROOT_DIR",
            "TMPDIR",
            "PLUMBLINE_LIMITS",
            "SONOBUOY_DIR",
            "SONOBUOY_NAMESPACE",
            "SONOBUOY_POD",
            "HOSTNAME",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            "TRACEPARENT",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the binary until it exits.
    pub(crate) fn plumbline(&self, args: &[&str]) -> Done {
        Done::of(self.command(args))
    }

    /// Runs the plugins that were written before with `run --local`. The archive goes to `out`.
    pub(crate) fn run(&self, plugins: &[&str], more: &[&str]) -> Done {
        self.plumbline(&run_args(plugins, more).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Starts the binary, and returns while it runs.
    pub(crate) fn start(&self, name: &str, args: &[&str]) -> Running {
        self.start_command(name, self.command(args))
    }

    /// Starts a command with an environment of its own, and returns while it runs.
    pub(crate) fn start_command(&self, name: &str, mut command: Command) -> Running {
        let (out, err) = (self.path(&format!("{name}.out")), self.path(&format!("{name}.err")));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .unwrap();
        Running { child, out, err }
    }

    /// The archives in `out`, sorted by name.
    pub(crate) fn archives(&self) -> Vec<PathBuf> {
        let mut archives: Vec<_> =
            entries(&self.path("out")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "gz")).collect();
        archives.sort();
        archives
    }

    /// The only archive in `out`.
    pub(crate) fn archive(&self) -> String {
        let archives = self.archives();
        assert_eq!(archives.len(), 1, "{archives:?}");
        archives[0].to_str().unwrap().to_owned()
    }

    /// A file of the only archive, unpacked by the system's `tar`.
    pub(crate) fn member(&self, name: &str) -> String {
        let output = Command::new("tar").args(["-xzOf", &self.archive(), name]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The names of the entries in the only archive.
    pub(crate) fn members(&self) -> Vec<String> {
        let output = Command::new("tar").args(["-tzf", &self.archive()]).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// The result tree of `plugin` in the only archive.
    pub(crate) fn tree(&self, plugin: &str) -> Value {
        let done = self.plumbline(&["results", &self.archive(), "-p", plugin, "-o", "json"]);
        let mut trees: Value =
            serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}{}", done.out, done.err));
        // They are not a part of the tree.
        let tree = trees[0].as_object_mut().unwrap();
        for key in ["causes", "slowest", "run", "node-distinctions"] {
            tree.remove(key);
        }
        trees[0].take()
    }

    /// Creates a gate. A script waits at `read _ < NAME` until [`Gate::open`] is called.
    pub(crate) fn gate(&self, name: &str) -> Gate {
        let path = self.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        // Opened for reading and writing, so that opening does not block and the bytes stay until a
        // script reads them.
        Gate(File::options().read(true).write(true).open(path).unwrap())
    }
}

/// Returns the path of `plumbline-dev`, which cargo builds next to the binary.
pub(crate) fn dev_program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_plumbline")).with_file_name("plumbline-dev");
    assert!(
        program.is_file(),
        "`{}` is missing: add `-p plumbline-dev` to `cargo test`, or run `cargo build -p plumbline-dev`",
        program.display()
    );
    program
}

/// The arguments of [`Bed::run`].
pub(crate) fn run_args(plugins: &[&str], more: &[&str]) -> Vec<String> {
    let mut args: Vec<String> = ["run", "--local", "--dir", "out"].map(str::to_owned).to_vec();
    for plugin in plugins {
        args.extend(["-p".to_owned(), format!("{plugin}.yaml")]);
    }
    args.extend(more.iter().map(|&arg| arg.to_owned()));
    args
}

pub(crate) fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

impl Done {
    /// Runs a command until it exits, or kills it at the deadline. A document that the program prints
    /// must have the documented keys.
    pub(crate) fn of(command: Command) -> Self {
        let is_own = command.get_program() == env!("CARGO_BIN_EXE_plumbline");
        let args: Vec<String> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let output = assert_cmd::Command::from_std(command).timeout(DEADLINE).output().unwrap();
        let done = Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        if is_own {
            output_keys::check(&args, &done.out);
        }
        done
    }

    /// The exit code and the output, with what differs from run to run replaced.
    pub(crate) fn shown(&self, bed: &Bed) -> String {
        filtered(&format!("exit code: {}\n--- stdout\n{}--- stderr\n{}", self.code, self.out, self.err), bed.root())
    }

    /// Fails and shows the output unless the exit code is `code`.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n{}\n{}", self.out, self.err);
        self
    }
}

pub(crate) struct Gate(File);

impl Gate {
    pub(crate) fn open(&mut self) {
        self.0.write_all(b"\n").unwrap();
    }
}

/// A command that is running. It is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What the command has written to stderr so far.
    pub(crate) fn err(&self) -> String {
        fs::read_to_string(&self.err).unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(name, &self.id().to_string());
    }

    pub(crate) fn wait(mut self) -> Done {
        let mut status: Option<ExitStatus> = None;
        wait_for("its end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        Done {
            code: status.unwrap().code().unwrap_or(-1),
            out: fs::read_to_string(&self.out).unwrap(),
            err: self.err(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The command may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal with the shell's own `kill`, because not every machine has a program of that
/// name.
pub(crate) fn signal(name: &str, process: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", process.trim())]).status().unwrap();
    assert!(status.success());
}

/// Waits until `happened` returns true, and fails at the deadline.
#[track_caller]
pub(crate) fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !happened() {
        assert!(begin.elapsed() < DEADLINE, "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The number of live processes in the group `group`. Processes that have exited and were not
/// reaped do not count.
pub(crate) fn alive_in_group(group: &str) -> usize {
    entries(Path::new("/proc"))
        .iter()
        .filter_map(|process| fs::read_to_string(process.join("stat")).ok())
        .filter(|stat| {
            let fields: Vec<&str> =
                stat.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace().collect()).unwrap_or_default();
            !matches!(fields[0], "Z" | "X") && fields[2] == group.trim()
        })
        .count()
}
