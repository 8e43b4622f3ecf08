//! `cargo xtask image`: builds the container image without a container engine.
//!
//! The image has a static binary and a layer with the few files that every process expects. It is
//! an archive in the layout of the OCI image specification. The same input gives the same bytes.

mod layer;
mod layout;
mod options;
mod reference;
mod system;
pub(crate) mod tree;

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use options::Options;
pub(crate) use reference::Reference;
pub(crate) use tree::Tree;

use crate::error::Error;
use crate::paths::Workspace;
use crate::program::{self, Platform};
use crate::report::print_status;

/// Compressed size in bytes above which a warning is printed, because every node of a cluster pulls
/// the image.
const EXPECTED_SIZE: u64 = 40 << 20;

/// The image that was written.
#[derive(Debug)]
pub(crate) struct Built {
    /// The path of the archive.
    pub(crate) archive: PathBuf,
    /// The name by which an engine that loads it knows it.
    pub(crate) name: String,
    /// The path of the binary.
    pub(crate) binary: PathBuf,
}

/// Builds the image and describes it on stderr. Prints the path of the archive on stdout.
pub(crate) fn image(workspace: &Workspace, options: &Options) -> Result<(), Error> {
    let built = make(workspace, options)?;
    println!("{}", built.archive.display());
    Ok(())
}

/// Builds the image.
pub(crate) fn make(workspace: &Workspace, options: &Options) -> Result<Built, Error> {
    let reference = Reference::parse(options.tag())?;
    let platform = Platform::of_this_machine()?;
    let binary = match &options.binary {
        Some(path) => path.clone(),
        None if options.dev => program::build_with_dev(workspace)?,
        None => program::build(workspace)?,
    };
    let mut layers = layers(read(&binary)?);
    if options.dev {
        layers.push(system::dev_program(read(&binary.with_file_name(program::DEV))?));
    }
    let file = if options.dev { "plumbline-dev.tar" } else { "plumbline.tar" };
    let archive = options.output.clone().unwrap_or_else(|| workspace.image().join(file));
    write(&archive, &packed([(platform, layers)], &reference)?)?;
    Ok(Built { archive, name: reference.full(), binary })
}

/// Reads a static binary.
fn read(binary: &Path) -> Result<Vec<u8>, Error> {
    let bytes = fs::read(binary).map_err(Error::io("read the binary", binary))?;
    if program::is_static(&bytes) {
        return Ok(bytes);
    }
    Err(Error::unexpected(format!(
        "`{}` is not a static binary, and the image has no loader for it; cargo links a static one with `--target` and the \
         flags `-C target-feature=+crt-static`",
        binary.display()
    )))
}

/// Returns the layers of an image with this program.
pub(crate) fn layers(program: Vec<u8>) -> Vec<Tree> {
    vec![system::files(), system::program(program)]
}

/// Returns the archive of one image, or of the index of several, with these layers.
pub(crate) fn packed(
    platforms: impl IntoIterator<Item = (Platform, Vec<Tree>)>,
    reference: &Reference,
) -> Result<Vec<u8>, Error> {
    let mut images = Vec::new();
    for (platform, layers) in platforms {
        let image = layout::Image::new(platform.architecture, layers)?;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let (name, digest, size) = (reference.full(), image.digest(), image.size());
        print_status(format_args!("image {name} for {platform} ({digest}), {:.1} MiB compressed", mib(size)));
        if size > EXPECTED_SIZE {
            print_status(format_args!("warning: it is larger than {:.0} MiB", mib(EXPECTED_SIZE)));
        }
        images.push(image);
    }
    layout::archive(&images, reference)
}

/// Writes the archive atomically, so that concurrent readers see the old or the new one.
pub(crate) fn write(archive: &Path, bytes: &[u8]) -> Result<(), Error> {
    if let Some(dir) = archive.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
    }
    let mut partial = archive.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    fs::write(&partial, bytes).map_err(Error::io("write", &partial))?;
    fs::rename(&partial, archive).map_err(Error::io("write", archive))
}
