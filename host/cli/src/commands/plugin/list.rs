//! `plumbline plugin list`

use std::io::Write;
use std::process::ExitCode;

use plumbline_core::definition::Definition;
use plumbline_stock::Place;

use crate::args::Global;
use crate::error::CliError;
use crate::limits::Limits;
use crate::{logging, stock};

/// Lists the stock plugins and the stock modules.
pub(crate) fn list(global: &Global) -> Result<ExitCode, CliError> {
    logging::init(global);
    let (_, modules) = stock::sandbox(&Limits::default())?;
    let mut out = anstream::stdout().lock();
    let mut print = || -> std::io::Result<()> {
        writeln!(out, "plugins:")?;
        for stock in plumbline_stock::definitions() {
            let word = |place| if place == Place::Local { "local" } else { "cluster" };
            let places: Vec<_> = stock.places().map(word).collect();
            let yaml = stock.cluster.or(stock.local).unwrap_or_default();
            let description = Definition::parse(yaml).ok().and_then(|parsed| parsed.definition.description);
            writeln!(out, "  {:14} {:15} {}", stock.name, places.join(", "), description.unwrap_or_default())?;
        }
        writeln!(out, "modules:")?;
        for module in &modules {
            let info = module.info();
            let roles = [
                (info.roles.post_processor, "post-processor"),
                (info.roles.expectations, "expectations"),
                (info.roles.summarizer, "summarizer"),
            ];
            let roles: Vec<&str> = roles.into_iter().filter(|(plays, _)| *plays).map(|(_, role)| role).collect();
            let roles = roles.join(", ");
            writeln!(out, "  {:14} {roles:27} {}", info.name.as_deref().unwrap_or("?"), info.formats.join(", "))?;
        }
        Ok(())
    };
    print().map_err(|error| CliError::printing("the list cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
