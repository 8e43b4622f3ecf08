//! What in a project is made by tools and not by its author.

/// Directories that tools fill.
const MADE: [&str; 6] = ["build", "target", "node_modules", "__pycache__", "dist", "venv"];

/// Whether a directory of this name is not looked into. Hidden ones are tools' own: `.git`, `.venv`, `.fuzz`.
pub(super) fn directory(name: &str) -> bool {
    name.starts_with('.') || MADE.contains(&name)
}

/// Whether a file of this name is not looked at: what an editor writes beside the file, and, at the top, the module that the build makes.
pub(super) fn file(name: &str, at_the_top: bool) -> bool {
    let scratch = name.starts_with('.') || name.starts_with('#') || name.ends_with('~') || name.ends_with(".swp");
    scratch || (at_the_top && name.ends_with(".wasm"))
}
