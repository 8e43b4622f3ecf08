//! The manifest of the Rust SDK for a copy outside of the workspace. Versions and lints are those
//! of the workspace at build time, so the copy cannot drift.

/// Returns the member's manifest with all inherited keys resolved. The error names the line that
/// could not be resolved.
pub(crate) fn standalone(member: &str, workspace: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut section = String::new();
    for line in member.lines() {
        if let Some(name) = header(line) {
            section = name.to_owned();
            if section != "lints" {
                out += line;
                out.push('\n');
            }
            continue;
        }
        // The whole section is replaced below.
        if section == "lints" {
            continue;
        }
        match line.split_once(".workspace = true") {
            None => out += line,
            Some((key, _)) => {
                let from = if section == "package" { "workspace.package" } else { "workspace.dependencies" };
                out += value(workspace, from, key.trim()).ok_or_else(|| format!("`{line}` is not in `[{from}]`"))?;
            }
        }
        out.push('\n');
    }
    let mut copied = false;
    for line in workspace.lines() {
        if let Some(name) = header(line) {
            let lints = name.strip_prefix("workspace.").filter(|name| name.starts_with("lints."));
            copied = lints.is_some();
            out.extend(lints.map(|name| format!("\n[{name}]\n")));
        } else if copied && !line.is_empty() && !line.starts_with('#') {
            out += line;
            out.push('\n');
        }
    }
    Ok(out)
}

fn header(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']').filter(|name| !name.starts_with('['))
}

/// Returns the line of `key` in a section. Values that span several lines are not supported,
/// because the SDK has none.
fn value<'a>(text: &'a str, section: &str, key: &str) -> Option<&'a str> {
    let mut inside = false;
    text.lines().find(|line| {
        if let Some(name) = header(line) {
            inside = name == section;
        }
        inside
            && line.split_once('=').is_some_and(|(name, value)| name.trim() == key && !value.trim_end().ends_with('['))
    })
}
