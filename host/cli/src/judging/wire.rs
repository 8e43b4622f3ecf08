//! Chains that options ask for, in the definitions of a run.

use std::sync::Arc;

use super::chain::{chain, judged_plugin};
use super::rehearse::rehearse;
use crate::args::JudgeArgs;
use crate::error::CliError;
use crate::limits::Limits;
use crate::sources::Found;

/// Appends what `args` asks for to the chain of the plugin that is meant, and has the judges look at what they are given: what is wrong with a
/// list must not come out when the run has ended.
pub(crate) fn apply(args: &JudgeArgs, found: &mut [Found], limits: &Limits) -> Result<(), CliError> {
    if args.given().is_none() {
        return Ok(());
    }
    let names: Vec<String> = found.iter().map(|one| one.source.definition.name.to_string()).collect();
    let plugin = judged_plugin(args, &names)?;
    let chain = chain(args, &plugin, limits)?;
    let judged = found.iter_mut().filter(|one| one.source.definition.name.as_str() == plugin);
    for one in judged {
        let before = one.source.definition.plumbline.verdict.len();
        chain
            .apply(Arc::make_mut(&mut one.source.definition))
            .map_err(|error| CliError::usage(format!("plugin `{plugin}` cannot be judged so")).because(&error))?;
        rehearse(&one.source, before, limits)?;
    }
    Ok(())
}

/// An error if one of these options is given where the definitions of plugins are fixed already, as `why` says.
pub(crate) fn not_with(args: &JudgeArgs, why: &str, hint: &str) -> Result<(), CliError> {
    match args.given() {
        None => Ok(()),
        Some(option) => Err(CliError::usage(format!("`{option}` changes a plugin, and {why}")).hint(hint)),
    }
}
