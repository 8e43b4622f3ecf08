//! `plumbline modes`

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::print_json;
use plumbline_conformance::suite::Mode;
use serde_json::{Value, json};

use crate::args::{DataFormat, ModesArgs};

/// Maximum characters of a line without `--verbose`. One mode skips tests by name, which would fill
/// a page.
const MAX_LINE: usize = 200;

/// Prints the modes.
pub(crate) fn modes(args: &ModesArgs) -> Result<ExitCode, AppError> {
    let mut out = anstream::stdout().lock();
    let printed = match args.format {
        DataFormat::Text => write!(out, "{}", Mode::ALL.map(|mode| told(mode, args.verbose)).join("\n")),
        DataFormat::Json => print_json(&json!({"modes": Mode::ALL.map(data)}), &mut out),
    };
    printed.map_err(|error| AppError::printing("failed to print the modes", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a mode as data. Keys are never removed or renamed.
fn data(mode: Mode) -> Value {
    json!({
        "name": mode.name(), "description": mode.description(), "default": mode == Mode::default(),
        "focus": mode.focus(), "skip": mode.skip(), "parallel": mode.parallel(),
    })
}

/// Formats a mode with the keys that scripts expect.
fn told(mode: Mode, whole: bool) -> String {
    let lines = [
        format!("Mode: {mode}"),
        format!("Description: {}", mode.description()),
        format!("E2E_FOCUS: {}", mode.focus()),
        format!("E2E_SKIP: {}", mode.skip().unwrap_or_default()),
        format!("E2E_PARALLEL: {}", mode.parallel()),
    ];
    let cut = |line: String| match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) if !whole => format!("{}... (`--verbose` shows all of it)\n", line.get(..end).unwrap_or(&line)),
        _ => format!("{}\n", line.trim_end()),
    };
    lines.map(cut).concat()
}
