//! SourceKind images are kept.

use std::path::PathBuf;

use plumbline_app::AppError;

/// The layout that `pull` fills and `push` empties nothing of (XDG Base Directory Specification).
pub(crate) fn own_layout() -> Result<PathBuf, AppError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    data.map(|data| data.join("plumbline/images")).ok_or_else(|| {
        AppError::usage("there is no directory to keep images in: there is no home")
            .hint("say where: set `XDG_DATA_HOME` to a directory")
    })
}
