//! Makes the pictures of the README from a real run on this machine.
//!
//! `cargo run -p plumbline --example pictures target/release/plumbline` writes
//! `docs/images/run.svg`, the terminal after the run, and `docs/images/report.png`, the HTML report
//! in Chromium. It needs `script` (util-linux) and `chromium`.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};

/// The size of the terminal, in characters.
const ROWS: u16 = 24;
const COLUMNS: u16 = 100;
/// The size of a character in the picture, in pixels.
const CHARACTER: (f32, f32) = (8.4, 18.0);
/// The empty border around the text, in pixels.
const MARGIN: f32 = 16.0;

const RUN: &str = "run --local -p host-facts -p examples/node-check";

fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args().nth(1).ok_or("usage: pictures PATH-OF-PLUMBLINE")?;
    let program = fs::canonicalize(program)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let images = root.join("docs/images");
    let dir = tempfile::tempdir()?;
    let archives = dir.path().join("archives");

    let screen = run(&program, &root, &archives)?;
    fs::write(images.join("run.svg"), svg(&screen)?)?;

    let archive = fs::read_dir(&archives)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().ends_with(".tar.gz"))
        .ok_or("the run wrote no archive")?;
    let report = Command::new(&program).arg("results").arg(&archive).args(["-o", "html"]).output()?;
    let page = dir.path().join("report.html");
    fs::write(&page, report.stdout)?;
    let done = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars"])
        .args(["--window-size=1000,760", "--force-device-scale-factor=1"])
        .arg(format!("--user-data-dir={}", dir.path().join("chromium").display()))
        .arg(format!("--screenshot={}", images.join("report.png").display()))
        .arg(format!("file://{}", page.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if done.success() { Ok(()) } else { Err(format!("chromium ended with {done}").into()) }
}

/// Runs the checks on a terminal, and returns what it shows at the end.
fn run(program: &Path, root: &Path, archives: &Path) -> Result<vt100::Parser, Box<dyn Error>> {
    let command = format!(
        "stty rows {ROWS} cols {COLUMNS}; exec '{}' {RUN} --output '{}'",
        program.display(),
        archives.display()
    );
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .current_dir(root)
        .env("TERM", "xterm-256color")
        .env_remove("CI")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()?;
    let mut terminal = vt100::Parser::new(size(ROWS)?, size(COLUMNS)?, 0);
    terminal.process(format!("$ plumbline {RUN}\r\n").as_bytes());
    // The directory is a temporary one: show where an archive is by default.
    let shown = String::from_utf8_lossy(&output.stdout).replace(&archives.display().to_string(), ".");
    terminal.process(shown.as_bytes());
    Ok(terminal)
}

fn size(characters: u16) -> Result<NonZero<u16>, &'static str> {
    NonZero::new(characters).ok_or("a terminal has at least one row and column")
}

/// Draws the terminal as SVG, one `text` for each line.
fn svg(terminal: &vt100::Parser) -> Result<String, std::fmt::Error> {
    let screen = terminal.screen();
    let used = (0..ROWS).rev().find(|&row| !line(screen, row).is_empty()).map_or(1, |row| row + 1);
    let width = f32::from(COLUMNS).mul_add(CHARACTER.0, 2.0 * MARGIN);
    let height = f32::from(used).mul_add(CHARACTER.1, 2.0 * MARGIN);
    let mut out = String::new();
    writeln!(out, r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">"#)?;
    writeln!(out, r##"<rect width="100%" height="100%" rx="8" fill="#0d1117"/>"##)?;
    writeln!(out, r##"<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="#e6edf3">"##)?;
    for row in 0..used {
        let y = (f32::from(row) + 0.75).mul_add(CHARACTER.1, MARGIN);
        write!(out, r#"<text x="{MARGIN}" y="{y}">"#)?;
        for (text, style) in line(screen, row) {
            // SVG joins several spaces into one.
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace(' ', "\u{a0}");
            if style.is_empty() { write!(out, "{text}")? } else { write!(out, "<tspan{style}>{text}</tspan>")? }
        }
        writeln!(out, "</text>")?;
    }
    writeln!(out, "</g>\n</svg>")?;
    Ok(out)
}

/// The text of one row, in pieces of one style each, without spaces at the end.
fn line(screen: &vt100::Screen, row: u16) -> Vec<(String, String)> {
    let mut pieces: Vec<(String, String)> = Vec::new();
    for column in 0..COLUMNS {
        let Some(cell) = screen.cell(row, column) else { continue };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let style = style(cell);
        match pieces.last_mut() {
            Some((piece, known)) if *known == style => piece.push_str(text),
            _ => pieces.push((text.to_owned(), style)),
        }
    }
    if let Some((last, _)) = pieces.last_mut() {
        last.truncate(last.trim_end().len());
    }
    pieces.retain(|(text, _)| !text.is_empty());
    pieces
}

/// The attributes of a `tspan` that look like the cell.
fn style(cell: &vt100::Cell) -> String {
    let mut style = String::new();
    let colour = match cell.fgcolor() {
        vt100::Color::Idx(1 | 9) => "#ff7b72",
        vt100::Color::Idx(2 | 10) => "#3fb950",
        vt100::Color::Idx(3 | 11) => "#d29922",
        vt100::Color::Idx(4 | 6 | 12 | 14) => "#79c0ff",
        vt100::Color::Idx(8) => "#8b949e",
        _ => "",
    };
    if !colour.is_empty() {
        style += &format!(r#" fill="{colour}""#);
    }
    if cell.bold() {
        style += r#" font-weight="bold""#;
    }
    if cell.dim() {
        style += r#" opacity="0.7""#;
    }
    style
}
