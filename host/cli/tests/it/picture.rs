//! The picture of the terminal in the README, drawn from a run on this machine. With `BLESS=1`, the test
//! writes it.

use std::fmt::Write as _;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::guide::path_with_this_program;
use crate::readme::{commands, root};

const PICTURE: &str = "docs/images/run.svg";

/// The size of the terminal, in characters. The longest line is the command that shows the results.
const ROWS: u16 = 24;
const COLUMNS: u16 = 124;
/// The size of a character in the picture, in pixels.
const CHARACTER: (f32, f32) = (8.4, 18.0);
/// The empty border around the text, in pixels.
const MARGIN: f32 = 16.0;

#[test]
fn the_picture_of_the_readme_shows_its_first_run() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let command = commands(&readme).into_iter().find(|command| command.starts_with("plumbline run --local")).unwrap();
    let picture = root().join(PICTURE);
    match shown(command) {
        Some(terminal) => {
            let rows: Vec<String> = terminal.screen().rows(0, COLUMNS).collect();
            let text = rows.join("\n");
            assert_eq!(rows[0].trim_end(), format!("$ {command}"), "{text}");
            assert!(text.contains("\n  host-facts     ") && text.contains("\nnext:    plumbline results "), "{text}");
            let is_cut = |row: &String| row.trim_end().chars().count() >= usize::from(COLUMNS);
            assert!(!rows.iter().any(is_cut), "a line is too long for the picture:\n{text}");
            let drawn = svg(&terminal);
            assert!(drawn.contains("<tspan fill="), "the status of a plugin has no colour: {drawn}");
            if std::env::var_os("BLESS").is_some() {
                fs::write(&picture, drawn).unwrap();
            }
        }
        None => eprintln!("SKIPPED: the program `script` is missing, which runs a command on a terminal"),
    }
    let drawn = fs::read_to_string(picture).unwrap().replace('\u{a0}', " ");
    assert!(drawn.contains(&format!(">$ {command}<")), "{PICTURE} shows another command: run this test with BLESS=1");
}

/// Runs the command on a terminal, and returns what it shows at the end. `None` without the program
/// `script`.
fn shown(command: &str) -> Option<vt100::Parser> {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("examples"), dir.path().join("examples")).unwrap();
    let sized = format!("stty rows {ROWS} cols {COLUMNS}; exec {command}");
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &sized, "/dev/null"])
        .current_dir(dir.path())
        .env("PATH", path_with_this_program(dir.path()))
        .env("TERM", "xterm-256color")
        .env_remove("CI")
        .env_remove("NO_COLOR")
        .envs(below(dir.path()))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let mut terminal = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
    terminal.process(format!("$ {command}\r\n").as_bytes());
    terminal.process(&output.stdout);
    Some(terminal)
}

/// The variables of a user whose files are below `dir`.
fn below(dir: &Path) -> [(&'static str, std::path::PathBuf); 3] {
    [("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state")]
        .map(|(variable, name)| (variable, dir.join(name)))
}

fn size(characters: u16) -> NonZero<u16> {
    NonZero::new(characters).unwrap()
}

/// Draws the terminal as SVG, one `text` for each line.
fn svg(terminal: &vt100::Parser) -> String {
    let screen = terminal.screen();
    let used = (0..ROWS).rev().find(|&row| !line(screen, row).is_empty()).map_or(1, |row| row + 1);
    let width = f32::from(COLUMNS).mul_add(CHARACTER.0, 2.0 * MARGIN);
    let height = f32::from(used).mul_add(CHARACTER.1, 2.0 * MARGIN);
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14" fill="#e6edf3">
"##
    );
    for row in 0..used {
        let y = (f32::from(row) + 0.75).mul_add(CHARACTER.1, MARGIN);
        write!(out, r#"<text x="{MARGIN}" y="{y}">"#).unwrap();
        for (text, style) in line(screen, row) {
            // SVG joins several spaces into one.
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace(' ', "\u{a0}");
            out += &if style.is_empty() { text } else { format!("<tspan{style}>{text}</tspan>") };
        }
        out += "</text>\n";
    }
    out + "</g>\n</svg>\n"
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
