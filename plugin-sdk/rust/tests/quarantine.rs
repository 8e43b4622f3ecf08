//! The judge that the authors' guide shows, with its tests.

use std::collections::BTreeMap;
use std::io::BufRead;

use plumbline_sdk::testing::Case;
use plumbline_sdk::{Check, InputFile, Item, Judge, Outcome, PluginInfo, Ruling, Rulings, Status, Tree};
use serde::Deserialize;

/// The options of the judge.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Options {
    /// The maximum number of failures to excuse.
    at_most: u64,
}

/// Excuses failures of the tests in a list, as long as there are few.
struct Quarantine;

impl Judge for Quarantine {
    fn judge(plugin: &PluginInfo, tree: Tree, evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String> {
        let options: Options = plugin.options()?;
        let mut list = BTreeMap::new();
        for file in evidence {
            let path = file.path().to_owned();
            for line in file.lines() {
                // Half a list must not pass for a whole one.
                list.insert(line.map_err(|error| format!("`{path}`: {error}"))?, path.clone());
            }
        }
        let mut excused = 0;
        for judged in tree {
            let judged = judged?;
            // A failure that an earlier judge of the chain has ruled on is left alone.
            if judged.is_open_failure()
                && let Some(path) = list.get(&judged.item.name)
            {
                out.rule(judged.index, Ruling::excused("quarantined", "it is known to fail").source(path));
                excused += 1;
            }
        }
        let outcome = if excused <= options.at_most { Outcome::Passed } else { Outcome::Failed };
        let check = Check::new("QUARANTINE-001", "few failures are excused", outcome);
        out.report(check.want(format!("<= {}", options.at_most)).got(excused.to_string()));
        Ok(())
    }
}

plumbline_sdk::module! {
    name: "quarantine",
    formats: [],
    default_files: [],
    judge: Quarantine,
}

#[test]
fn tests_in_the_list_do_not_count() {
    let test = |name: &str, status| Item::new(1, name).status(status);
    let case = Case::new()
        .file("data/quarantine.txt", "dns\nstorage\n")
        .results("global", [Item::new(0, "suite").status(Status::Failed), test("dns", Status::Failed)])
        .results("global", [test("storage", Status::Passed), test("network", Status::Failed)]);
    let judged = case.judge::<Quarantine>();
    assert_eq!(judged.outline(), "global/dns: quarantined, excused: it is known to fail\nQUARANTINE-001: failed\n");
    assert_eq!(judged.ruling("network"), None);
    let judged = case.option("at-most", 1).judge::<Quarantine>();
    assert_eq!(judged.check("QUARANTINE-001").unwrap().outcome, Outcome::Passed);
}

#[test]
fn rulings_of_other_judges_are_kept_and_half_a_list_is_rejected() {
    let case = Case::new().results("global", [Item::new(0, "dns").status(Status::Failed)]);
    let ruled = case.clone().file("data/list", "dns\n").ruled("dns", Ruling::counts("regression", "it passed before"));
    assert!(ruled.judge::<Quarantine>().rulings.is_empty());
    let broken = case.broken_file("data/list", "dns\n", "the disk is gone").judge::<Quarantine>();
    assert_eq!((broken.rulings, broken.outcome), (vec![], Err("`data/list`: the disk is gone".to_owned())));
}
