//! `plumbline man`: the man pages, one for each command. Packages contain them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use plumbline_app::{AppError, Explain as _};

#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Directory for the pages, which is created if it does not exist
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Writes the pages of all visible `commands`.
pub(crate) fn man(args: &ManArgs, commands: Command) -> Result<ExitCode, AppError> {
    let failed = format!("failed to write the man pages to `{}`", args.dir.display());
    fs::create_dir_all(&args.dir).system_error(&failed)?;
    let mut command = commands.disable_help_subcommand(true);
    command.build();
    pages(&command, &args.dir).system_error(&failed)?;
    Ok(ExitCode::SUCCESS)
}

fn pages(command: &Command, dir: &Path) -> io::Result<()> {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        pages(sub, dir)?;
    }
    let source = concat!("Plumbline ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(source).manual("Plumbline manual");
    let mut page = Vec::new();
    write_page(&man, command, &mut page)?;
    fs::write(dir.join(man.get_filename()), page)
}

fn write_page(man: &Man, command: &Command, out: &mut impl Write) -> io::Result<()> {
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        man.render_options_section(out)?;
    }
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(out)?;
    }
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    after.map_or(Ok(()), |after| sections(&after.to_string()).to_writer(out))
}

/// Makes a section of each part of the help that follows a line such as `Examples:`. The lines of a
/// section are kept as they are.
fn sections(help: &str) -> Roff {
    let mut page = Roff::new();
    let mut is_open = false;
    for line in help.lines() {
        match line.strip_suffix(':').filter(|heading| !heading.starts_with(' ')) {
            Some(heading) => {
                if is_open {
                    page.control("fi", []);
                }
                page.control("SH", [heading.to_uppercase().as_str()]);
                page.control("nf", []);
                is_open = true;
            }
            None => {
                page.text([roman(line)]);
            }
        }
    }
    if is_open {
        page.control("fi", []);
    }
    page
}
