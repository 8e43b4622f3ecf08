//! `plumbline logs` and `plumbline get`: the logs and the names of the pods of a run.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use plumbline_app::AppError;
use plumbline_app::report::{print_json, print_json_line};
use plumbline_app::runtime::runtime;
use plumbline_core::duration::parse_duration;
use plumbline_core::text::coloured_line;
use plumbline_kubernetes::logs::{LogEvent, LogOptions, LogSource, LogSummary, LogsError, follow, show};
use plumbline_kubernetes::{Cluster, plugin_pods};
use serde_json::json;

use crate::args::global::Global;
use crate::args::shared::{DataFormat, OutputArgs};
use crate::ci::WithoutCommands;
use crate::commands::cluster::{ClusterArgs, connect, fail_cluster};
use crate::commands::query::cluster_error;
use crate::error::INTERRUPTED;
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
    /// Start with the last N lines of each log
    #[arg(long, value_name = "N")]
    pub(crate) tail: Option<u32>,
    /// Start with lines that are at most this old, such as `10m`
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) since: Option<Duration>,
    /// Print the lines in this format; JSON is one object per line
    #[arg(short = 'o', long = "output", value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: DataFormat,
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
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Prints the logs. Each log has a header, or, with following, each line has a prefix.
pub(crate) fn logs(args: &LogsArgs) -> Result<ExitCode, AppError> {
    let runtime = runtime()?;
    let Some(summary) = runtime.block_on(print_logs(args))? else { return Ok(ExitCode::from(INTERRUPTED)) };
    if summary.failed > 0 && summary.failed == summary.containers {
        return Err(AppError::system("failed to read any log").hint("see the warnings above"));
    }
    Ok(ExitCode::SUCCESS)
}

async fn print_logs(args: &LogsArgs) -> Result<Option<LogSummary>, AppError> {
    let cluster = Cluster::connect(&args.cluster.connect_options())
        .await
        .map_err(|error| cluster_error("failed to query the cluster", &error))?;
    let options = LogOptions {
        namespace: args.cluster.namespace.clone(),
        plugin: args.plugin.clone(),
        tail: args.tail,
        since: args.since,
    };
    let stdout = io::stdout();
    let form = match (args.format, args.follow) {
        (DataFormat::Json, _) => Form::Json,
        (DataFormat::Text, true) => Form::Prefix,
        (DataFormat::Text, false) => Form::Header,
    };
    let safe = stdout.is_terminal();
    let mut printer = Printer { safe, ..Printer::new(WithoutCommands::stdout(stdout), form) };
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
        error @ LogsError::NoPods { .. } => AppError::system("found no logs")
            .because(&error)
            .hint("check whether a run exists with `plumbline status`; set another namespace with `-n`"),
    })
}

/// How the source of a line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A header where the source changes.
    Header,
    /// A prefix of each line.
    Prefix,
    /// Keys of an object. They are never removed or renamed (docs/output.md).
    Json,
}

/// Prints log lines with their source.
struct Printer<W> {
    out: W,
    form: Form,
    /// Whether control characters are replaced, because the output is a terminal.
    safe: bool,
    last: Option<Arc<LogSource>>,
}

impl<W: Write> Printer<W> {
    fn new(out: W, form: Form) -> Self {
        Self { out, form, safe: false, last: None }
    }

    fn take(&mut self, event: &LogEvent) -> io::Result<()> {
        let (source, line) = match event {
            LogEvent::Line { source, line } => (source, line),
            LogEvent::Notice(text) => {
                say(&format!("warning: {text}"));
                return Ok(());
            }
        };
        match self.form {
            Form::Json => {
                let LogSource { namespace, pod, container } = &**source;
                let line = String::from_utf8_lossy(line);
                let document = json!({"namespace": namespace, "pod": pod, "container": container, "line": line});
                return print_json_line(&document, &mut self.out);
            }
            Form::Prefix => write!(self.out, "[{}/{}] ", source.pod, source.container)?,
            Form::Header if self.last.as_ref() != Some(source) => {
                self.last = Some(Arc::clone(source));
                writeln!(self.out, "{source}")?;
            }
            Form::Header => {}
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
    print_raw("failed to print the names of pods", |out| match args.output.is_json() {
        true => print_json(&json!({"pods": names}), out),
        false => names.iter().try_for_each(|name| writeln!(out, "{name}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(form: Form) -> String {
        let source = |container: &str| {
            Arc::new(LogSource { namespace: "n".to_owned(), pod: "p".to_owned(), container: container.to_owned() })
        };
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, form);
        for (container, line) in [("a", "1"), ("a", "2"), ("b", "3"), ("a", "")] {
            printer.take(&LogEvent::Line { source: source(container), line: line.into() }).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_header_is_printed_where_the_source_changes() {
        let header = |container: &str| format!("namespace=\"n\" pod=\"p\" container=\"{container}\"\n");
        assert_eq!(printed(Form::Header), format!("{}1\n2\n{}3\n{}\n", header("a"), header("b"), header("a")));
    }

    #[test]
    fn a_line_does_not_steer_the_terminal_that_shows_it() {
        let source = Arc::new(LogSource { namespace: "n".to_owned(), pod: "p".to_owned(), container: "c".to_owned() });
        let line = LogEvent::Line { source, line: b"\x1b[31mred\x1b[2J\xff".to_vec() };
        let printed = |safe: bool| {
            let mut out = Vec::new();
            Printer { safe, ..Printer::new(&mut out, Form::Prefix) }.take(&line).unwrap();
            out
        };
        assert_eq!(String::from_utf8(printed(true)).unwrap(), "[p/c] \u{1b}[31mred\u{fffd}[2J\u{fffd}\n");
        assert_eq!(printed(false), b"[p/c] \x1b[31mred\x1b[2J\xff\n");
    }

    #[test]
    fn as_data_every_line_is_an_object_with_its_source() {
        let printed = printed(Form::Json);
        assert_eq!(printed.lines().next(), Some(r#"{"container":"a","line":"1","namespace":"n","pod":"p"}"#));
        assert_eq!(printed.lines().count(), 4);
    }

    #[test]
    fn every_followed_line_has_a_prefix() {
        assert_eq!(printed(Form::Prefix), "[p/a] 1\n[p/a] 2\n[p/b] 3\n[p/a] \n");
    }
}
