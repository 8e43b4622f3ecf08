//! The role, which selects the judge and applies it to each leaf.

use plumbline_sdk::judgement::shorten;
use plumbline_sdk::{InputFile, Judge, PluginInfo, Ruling, Rulings, Tree, log};

use crate::list::List;
use crate::name::{plain, with_class};
use crate::options::Options;
use crate::pattern;
use crate::problems::Problems;
use crate::reruns::Reruns;
use crate::rules::{Baseline, Leaf, Listed, Rules, Said, Skips};

/// The metadata key under which the host gives the id of a failure's cause.
const CAUSE: &str = "cause";

/// The metadata key of an item's kind.
const TYPE: &str = "type";

/// The metadata key of the file that an item of the host is about, and the directory of errors.
const FILE: &str = "file";
const ERRORS: &str = "errors/";

/// The judges for lists.
#[derive(Debug, Clone, Copy)]
pub struct Lists;

impl Judge for Lists {
    fn judge(plugin: &PluginInfo, tree: Tree, evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String> {
        let mut problems = Problems::default();
        let mut rules = rules(plugin, evidence, &mut problems)?;
        let mut around: Vec<(bool, String)> = Vec::new();
        for item in tree {
            let item = item?;
            around.truncate(item.item.depth as usize);
            around.push((is_suite(&item.item.meta), item.item.name.clone()));
            let Some(status) = item.item.status.as_ref().filter(|_| item.leaf && item.ruling.is_none()) else {
                continue;
            };
            if is_of_the_host(&item.item.meta) {
                continue;
            }
            let parents = around.split_last().map(|(_, parents)| parents).unwrap_or_default();
            let suites: Vec<String> =
                parents.iter().filter(|(suite, _)| *suite).map(|(_, name)| name.clone()).collect();
            let name = plain(&item.item.name);
            let full_name = with_class(name, &item.item.meta);
            let cause = item.item.meta.iter().find(|(key, _)| key == CAUSE).map(|(_, id)| id.as_str());
            if let Some(said) = rules.say(&Leaf { name, full_name: &full_name, suites: &suites, cause, status }) {
                let Said { class, counts, reason, source } = said;
                let (reason, source) = (shorten(reason), shorten(source));
                out.rule(item.index, Ruling { class: class.to_owned(), counts, reason, source });
            }
        }
        if let Some(remark) = rules.remark() {
            log::info(&remark);
        }
        problems.outcome()
    }
}

/// Returns whether an item with children is a suite. Nodes and files are none: tools name files
/// differently from run to run.
fn is_suite(meta: &[(String, String)]) -> bool {
    !meta.iter().any(|(key, kind)| key == TYPE && (kind == "node" || kind == "file"))
}

/// Returns whether the item is an error of the run and not a test, such as a crash or a result that
/// did not arrive. Lists and earlier runs excuse only tests.
fn is_of_the_host(meta: &[(String, String)]) -> bool {
    meta.iter().any(|(key, file)| key == FILE && file.starts_with(ERRORS))
}

/// Returns the judge for the name `plugin.format`, which the chain uses.
fn rules(plugin: &PluginInfo, evidence: Vec<InputFile>, problems: &mut Problems) -> Result<Box<dyn Rules>, String> {
    let options: Options = plugin.options()?;
    options.only_for(&plugin.format)?;
    let today = options.today()?;
    Ok(match plugin.format.as_str() {
        "known-failures" => {
            let list = List::read(evidence, today, problems);
            Box::new(Listed { list, class: "known-failure", what: "a known failure" })
        }
        "flaky" => {
            let list = List::read(evidence, today, problems);
            Box::new(Listed { list, class: "flaky", what: "known to be flaky" })
        }
        "allowed-skips" => {
            let required = options.required.as_deref().map(pattern::compile).transpose();
            let required = required.map_err(|error| format!("option `required`: {error}"))?;
            let list = List::read(evidence, today, problems);
            if let Some(place) = list.first_cause() {
                problems.add(place, "`cause` is for failures, and this list is for skipped tests");
            }
            Box::new(Skips { list, required })
        }
        "baseline" => {
            let failed =
                options.failed.as_deref().ok_or("option `failed` is missing: the names of what failed before")?;
            let source = options.source.as_deref().unwrap_or("the option `failed`");
            Box::new(Baseline::new(failed, source, options.others.unwrap_or_default()))
        }
        "reruns" => Box::new(Reruns::read(evidence, problems)),
        other => {
            return Err(format!(
                "unknown judge `{other}`: the judges are `known-failures`, `flaky`, `allowed-skips`, `baseline` and `reruns`"
            ));
        }
    })
}
