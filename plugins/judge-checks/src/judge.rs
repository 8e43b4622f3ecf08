//! The role, which reads everything once and reports the outcome of each check.

use plumbline_sdk::judgement::shorten;
use plumbline_sdk::{InputFile, Judge, PluginInfo, Rulings, Tree};
use serde::Deserialize;
use serde_json::Value;

use crate::check::{Check, Group, Subject};
use crate::evaluate::{Answer, Found, evaluate};
use crate::files::Files;
use crate::gaps::Gaps;
use crate::health::Health;
use crate::items::{By, Count, DURATION, Durations, Leaf};
use crate::logs::{self, Scan};
use crate::name::plain;
use crate::problems::Problems;
use crate::samples::{Room, Samples};
use crate::spec;
use crate::want::Want;

/// The judge `checks`.
#[derive(Debug, Clone, Copy)]
pub struct Checks;

/// The options of the judge.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    checks: Option<Vec<Value>>,
}

/// A check whose values are being collected.
struct Open {
    id: String,
    name: String,
    want: Want,
    gathering: Gathering,
}

enum Gathering {
    Health { of: Group, healthy: bool },
    Count(Count),
    Durations(Durations),
    Scan(Scan),
}

impl Judge for Checks {
    fn judge(plugin: &PluginInfo, tree: Tree, evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String> {
        let options: Options = plugin.options()?;
        let mut problems = Problems::default();
        let Files { data, health, queries, others } = Files::sort(evidence);
        let gaps = Gaps::read(queries);
        let room = Room::new();
        let checks = spec::read(options.checks.as_deref(), data, &mut problems);
        let mut open: Vec<Open> = checks.into_iter().map(|check| begin(check, &room)).collect();

        items(tree, &mut open)?;
        let mut scans: Vec<&mut Scan> = open.iter_mut().filter_map(|open| open.gathering.scan()).collect();
        logs::read(others, &mut scans);
        let mut file = Some(health);
        let mut health = None;
        for Open { id, name, want, gathering } in open {
            let found = match gathering {
                Gathering::Health { of, healthy } => {
                    // Read the file once, when the first check needs it.
                    let health = health.get_or_insert_with(|| Health::read(file.take().flatten()));
                    health.as_ref().map_err(Clone::clone).and_then(|health| health.of(of, healthy))
                }
                Gathering::Count(count) => count.found(),
                Gathering::Durations(durations) => durations.found(),
                Gathering::Scan(scan) => scan.found(&gaps),
            };
            report(id, name, &want, found, out);
        }
        problems.outcome()
    }
}

fn begin(check: Check, room: &Room) -> Open {
    let samples = |measure| Samples::new(measure, room.clone());
    let gathering = match check.subject {
        Subject::Health { of, healthy } => Gathering::Health { of, healthy },
        Subject::Items { statuses, matching } => Gathering::Count(Count::new(By::Status(statuses), matching)),
        Subject::Class { class, matching } => Gathering::Count(Count::new(By::Class(class), matching)),
        Subject::Duration { measure, matching } => {
            Gathering::Durations(Durations::new(measure, matching, samples(measure)))
        }
        Subject::Log(log) => {
            let samples = samples(log.measure);
            Gathering::Scan(Scan::new(log, samples))
        }
    };
    Open { id: check.id, name: check.name, want: check.want, gathering }
}

impl Gathering {
    fn scan(&mut self) -> Option<&mut Scan> {
        match self {
            Self::Scan(scan) => Some(scan),
            _ => None,
        }
    }

    fn see(&mut self, leaf: &Leaf<'_>) {
        match self {
            Self::Count(count) => count.see(leaf),
            Self::Durations(durations) => durations.see(leaf),
            Self::Health { .. } | Self::Scan(_) => {}
        }
    }
}

fn items(tree: Tree, open: &mut [Open]) -> Result<(), String> {
    for item in tree {
        let item = item?;
        let Some(status) = item.item.status.as_ref().filter(|_| item.leaf) else { continue };
        // If a key occurs twice, its last value wins.
        let duration = item.item.meta.iter().rev().find(|(key, _)| key == DURATION);
        let leaf = Leaf {
            name: plain(&item.item.name),
            status,
            class: item.ruling.as_ref().map(|ruling| ruling.class.as_str()),
            duration: duration.map(|(_, value)| value.as_str()),
        };
        open.iter_mut().for_each(|open| open.gathering.see(&leaf));
    }
    Ok(())
}

fn report(id: String, name: String, want: &Want, found: Result<Found, String>, out: &mut Rulings) {
    let Answer { outcome, got, reason } = evaluate(want, found);
    let (name, want) = (shorten(name), shorten(want.text.clone()));
    out.report(plumbline_sdk::Check { id, name, outcome, want, got, reason });
}
