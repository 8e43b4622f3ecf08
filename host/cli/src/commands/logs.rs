//! `plumbline logs` and `plumbline get`: the logs and the names of the pods of a run.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_core::text::coloured_line;
use plumbline_kubernetes::logs::{LogEvent, LogOptions, LogSource, LogSummary, LogsError, follow, show};
use plumbline_kubernetes::{Cluster, plugin_pods};

use crate::args::Global;
use crate::commands::cluster::{ClusterArgs, connect, fail_cluster};
use crate::commands::query::cluster_error;
use crate::output::print_raw;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Keep printing new lines until the run finishes, also of pods and containers that start later
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Show only the pods of this plugin; `sonobuoy` is the aggregator
    #[arg(short, long, value_name = "NAME")]
    pub(crate) plugin: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GetArgs {
    #[command(subcommand)]
    pub(crate) command: GetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GetCommand {
    /// Print the names of the pods of plugins
    #[command(alias = "pods")]
    Pod(GetPodArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct GetPodArgs {
    /// Show only the pods of this plugin
    #[arg(short, long, value_name = "NAME")]
    pub(crate) plugin: Option<plumbline_core::PluginName>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Exit code after an interrupt, as shells show it.
const INTERRUPTED: u8 = 130;

/// Prints the logs. Each log has a header, or, with following, each line has a prefix.
pub(crate) fn logs(args: &LogsArgs) -> Result<ExitCode, AppError> {
    let runtime = runtime()?;
    let Some(summary) = runtime.block_on(print_logs(args))? else { return Ok(ExitCode::from(INTERRUPTED)) };
    if summary.failed > 0 && summary.failed == summary.containers {
        return Err(AppError::system("no log could be read").hint("the warnings above say why"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the logs. Returns `None` after an interrupt.
async fn print_logs(args: &LogsArgs) -> Result<Option<LogSummary>, AppError> {
    let cluster = Cluster::connect(&args.cluster.connect_options())
        .await
        .map_err(|error| cluster_error("the cluster cannot be asked", &error))?;
    let options = LogOptions { namespace: args.cluster.namespace.clone(), plugin: args.plugin.clone() };
    let stdout = io::stdout();
    let mut printer = Printer { safe: stdout.is_terminal(), ..Printer::new(stdout, args.follow) };
    let mut tell = |event: LogEvent| printer.take(&event);
    let done = if args.follow {
        tokio::select! {
            done = follow(&cluster, &options, &mut tell) => done,
            _ = tokio::signal::ctrl_c() => return Ok(None),
        }
    } else {
        show(&cluster, &options, &mut tell).await
    };
    done.map(Some).map_err(|error| match error {
        LogsError::Cluster(error) => cluster_error("failed to read the logs", &error),
        LogsError::Output(error) => AppError::printing("failed to print the logs", &error),
        error @ LogsError::NoPods { .. } => AppError::system("there are no logs")
            .because(&error)
            .hint("`plumbline status` tells whether a run is there; another namespace is named with `-n`"),
    })
}

/// Prints log lines with their source.
struct Printer<W> {
    out: W,
    /// Whether each line has a prefix, instead of a header before the first.
    prefix: bool,
    /// Whether control characters are replaced, because the output is a terminal.
    safe: bool,
    last: Option<Arc<LogSource>>,
}

impl<W: Write> Printer<W> {
    fn new(out: W, prefix: bool) -> Self {
        Self { out, prefix, safe: false, last: None }
    }

    fn take(&mut self, event: &LogEvent) -> io::Result<()> {
        let (source, line) = match event {
            LogEvent::Line { source, line } => (source, line),
            LogEvent::Notice(text) => {
                say(&format!("warning: {text}"));
                return Ok(());
            }
        };
        if self.prefix {
            write!(self.out, "[{}/{}] ", source.pod, source.container)?;
        } else if self.last.as_ref() != Some(source) {
            self.last = Some(Arc::clone(source));
            writeln!(self.out, "{source}")?;
        }
        match self.safe {
            true => self.out.write_all(coloured_line(&String::from_utf8_lossy(line)).as_bytes())?,
            false => self.out.write_all(line)?,
        }
        self.out.write_all(b"\n")
    }
}

/// Prints the names of the pods of plugins, one per line.
pub(crate) fn pod(args: &GetPodArgs, global: &Global) -> Result<ExitCode, AppError> {
    let found = runtime()?.block_on(async {
        let cluster = connect(&args.cluster).await?;
        plugin_pods(&cluster, &args.cluster.namespace, args.plugin.as_ref().map(AsRef::as_ref)).await
    });
    let names = match found {
        Ok(names) => names,
        Err(error) => return Ok(fail_cluster(&error, global)),
    };
    print_raw("failed to print the names of pods", |out| names.iter().try_for_each(|name| writeln!(out, "{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(prefix: bool) -> String {
        let source = |container: &str| {
            Arc::new(LogSource { namespace: "n".to_owned(), pod: "p".to_owned(), container: container.to_owned() })
        };
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, prefix);
        for (container, line) in [("a", "1"), ("a", "2"), ("b", "3"), ("a", "")] {
            printer.take(&LogEvent::Line { source: source(container), line: line.into() }).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_header_stands_where_the_source_changes() {
        let header = |container: &str| format!("namespace=\"n\" pod=\"p\" container=\"{container}\"\n");
        assert_eq!(printed(false), format!("{}1\n2\n{}3\n{}\n", header("a"), header("b"), header("a")));
    }

    #[test]
    fn a_line_does_not_steer_the_terminal_that_shows_it() {
        let source = Arc::new(LogSource { namespace: "n".to_owned(), pod: "p".to_owned(), container: "c".to_owned() });
        let line = LogEvent::Line { source, line: b"\x1b[31mred\x1b[2J\xff".to_vec() };
        let printed = |safe: bool| {
            let mut out = Vec::new();
            Printer { safe, ..Printer::new(&mut out, true) }.take(&line).unwrap();
            out
        };
        assert_eq!(String::from_utf8(printed(true)).unwrap(), "[p/c] \u{1b}[31mred\u{fffd}[2J\u{fffd}\n");
        assert_eq!(printed(false), b"[p/c] \x1b[31mred\x1b[2J\xff\n");
    }

    #[test]
    fn a_prefix_stands_before_every_followed_line() {
        assert_eq!(printed(true), "[p/a] 1\n[p/a] 2\n[p/b] 3\n[p/a] \n");
    }
}
