//! `plumbline results`

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::results::{
    Collected, HEALTH, Html, JsonArray, ResultsOptions, ShownResults, View, YamlDocuments, show,
};

use super::results_diff;
use super::results_text::{Text, printed};
use crate::args::{ExitCodes, Global, RegistryArgs, ResultsArgs, ResultsCommand, ResultsFormat};
use crate::context::context;
use crate::error::verdict_code;
use crate::logging;
use crate::output::Foreign;

/// Shows the results in archives and result files.
pub(crate) fn results(args: &ResultsArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    if let Some(ResultsCommand::Diff(diff)) = &args.command {
        return results_diff::diff(diff, global);
    }
    let mut out = BufWriter::new(Foreign::stdout());
    let mut seen = ShownResults::default();
    let shown = print(args, &mut seen, &mut out);
    match shown {
        Ok(()) => printed(out.flush())?,
        // The incomplete document is discarded.
        Err(error) => {
            let _ = out.into_parts();
            return Err(error);
        }
    }
    Ok(match global.exit_code {
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict if args.plugin.as_deref() == Some(HEALTH) && !seen.is_incomplete() => ExitCode::SUCCESS,
        ExitCodes::Strict => verdict_code(seen.verdict()),
    })
}

fn print(args: &ResultsArgs, seen: &mut ShownResults, out: &mut impl Write) -> Result<(), AppError> {
    let (context, options) = (context(&RegistryArgs::default()), options(args));
    let mut each = |view: &mut dyn View| show(&context, &options, seen, view);
    let Some(format) = args.format.or_else(|| args.mode.format()) else {
        return each(&mut Text::new(args, out));
    };
    match format {
        ResultsFormat::Json => JsonArray::print(out, each),
        ResultsFormat::Yaml => each(&mut YamlDocuments(out)),
        ResultsFormat::Junit | ResultsFormat::Markdown => {
            let mut collected = Collected::default();
            each(&mut collected)?;
            printed(if format == ResultsFormat::Junit { collected.junit(out) } else { collected.markdown(out) })
        }
        ResultsFormat::Html => {
            let mut page = Html::new()?;
            each(&mut page)?;
            printed(page.finish(out))
        }
    }
}

fn options(args: &ResultsArgs) -> ResultsOptions {
    ResultsOptions {
        inputs: args.inputs.clone(),
        plugin: args.plugin.clone(),
        node: args.node.clone(),
        reprocess: args.reprocess,
        definition: args.definition.clone(),
        result_format: args.result_format.clone(),
        limits: args.limits.file.clone(),
        judges: (&args.judge).into(),
    }
}
