//! The role `judge`.

use std::hint::black_box;
use std::io::Read;

use plumbline_sdk::{Check, InputFile, Judge, JudgedItem, Outcome, PluginInfo, Ruling, Rulings, Tree};

use crate::post_processor::{forever, grow, spin};
use crate::{Behaviour, Misbehave};

/// The number of rulings before a failure halfway.
const HALF: u64 = 2;

impl Judge for Misbehave {
    fn judge(plugin: &PluginInfo, mut tree: Tree, evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String> {
        match Behaviour::of(plugin)? {
            Behaviour::EndlessLoop => spin(),
            Behaviour::MemoryGrowth => grow(),
            Behaviour::ReadFlood => forever(|| _ = black_box(tree.next())),
            Behaviour::ReadNothing => out.report(check("UNREAD")),
            Behaviour::RuleUnread => rule_now(out, 0, ruling()),
            Behaviour::ReadAfterEnd => {
                speak(&mut tree, evidence, out)?;
                let after = (0..100).filter(|_| tree.next().is_some()).count();
                out.report(check("END").got(format!("{after} after the end")));
            }
            Behaviour::RuleLate => {
                let read = tree.by_ref().collect::<Result<Vec<_>, _>>()?;
                drop(tree);
                read.iter().filter(|judged| judged.leaf).for_each(|judged| out.rule(judged.index, said(judged)));
            }
            Behaviour::RuleParent => {
                let parent = tree.by_ref().find_map(|judged| judged.ok().filter(|judged| !judged.leaf));
                rule_now(out, parent.map_or(u64::MAX, |parent| parent.index), ruling());
            }
            Behaviour::RuleTwice => {
                let leaf = leaf(&mut tree)?;
                rule_now(out, leaf, ruling());
                rule_now(out, leaf, Ruling::counts("second-thought", "the later one counts"));
            }
            Behaviour::RuleFlood => {
                let leaf = leaf(&mut tree)?;
                forever(|| out.rule(leaf, ruling()));
            }
            Behaviour::BadClass => rule_now(out, leaf(&mut tree)?, Ruling::excused("Not A Class\u{1b}", "")),
            Behaviour::LongName => rule_now(out, leaf(&mut tree)?, Ruling::excused("x", "r".repeat(5000))),
            Behaviour::HugeString => rule_now(out, leaf(&mut tree)?, Ruling::excused("x", "r".repeat(40 << 20))),
            Behaviour::Twice => {
                out.report(check("ONCE"));
                out.flush();
                out.report(check("ONCE"));
            }
            Behaviour::CheckFlood => (0..20_000).for_each(|n| out.report(check(&format!("C-{n}")))),
            Behaviour::EmptyName => out.report(check("")),
            Behaviour::BadBatch => {
                let leaf = leaf(&mut tree)?;
                rule_now(out, leaf, ruling());
                out.rule(leaf, ruling());
                rule_now(out, u64::MAX, ruling());
            }
            Behaviour::EmitOutOfRole => crate::expectations::emit(),
            Behaviour::PanicHalfway => {
                half(&mut tree, out)?;
                let nothing: Option<u32> = black_box(None);
                #[expect(clippy::expect_used, reason = "this is what it is about")]
                nothing.expect("a judgement that is not there");
            }
            Behaviour::RefuseHalfway => {
                half(&mut tree, out)?;
                return Err("there is no list to judge by".into());
            }
            _ => speak(&mut tree, evidence, out)?,
        }
        Ok(())
    }
}

/// Rules on each leaf with what was read, and reports a check for each file with its content.
fn speak(tree: &mut Tree, evidence: Vec<InputFile>, out: &mut Rulings) -> Result<(), String> {
    for judged in tree {
        let judged = judged?;
        if judged.leaf {
            out.rule(judged.index, said(&judged));
        }
    }
    for mut file in evidence {
        let mut text = String::new();
        let read = file.read_to_string(&mut text).map_err(|error| error.to_string());
        let outcome = if read.is_ok() { Outcome::Passed } else { Outcome::Unknown };
        let check = Check::new(file.path(), "can be read", outcome).want(format!("{} bytes", file.size()));
        out.report(check.got(text).reason(read.err().unwrap_or_default()));
    }
    Ok(())
}

fn said(judged: &JudgedItem) -> Ruling {
    let before = judged.ruling.as_ref().map_or("nobody", |ruling| ruling.class.as_str());
    let reason = format!("{}/{}/{}", judged.set, judged.item.depth, judged.item.name);
    let status = judged.item.status.as_ref().map_or("none", |status| status.as_str());
    Ruling { counts: judged.is_failure(), ..Ruling::excused("read", reason) }.source(format!("{status}, by {before}"))
}

fn ruling() -> Ruling {
    Ruling::excused("first", "because")
}

fn check(id: &str) -> Check {
    Check::new(id, "a check", Outcome::Failed).want("1").got("0")
}

fn rule_now(out: &mut Rulings, index: u64, ruling: Ruling) {
    out.rule(index, ruling);
    out.flush();
}

/// Returns the number of the first leaf.
fn leaf(tree: &mut Tree) -> Result<u64, String> {
    let mut leaves = tree.filter(|judged| judged.as_ref().is_ok_and(|judged| judged.leaf));
    leaves.next().ok_or("there is no leaf")?.map(|judged| judged.index)
}

fn half(tree: &mut Tree, out: &mut Rulings) -> Result<(), String> {
    let leaf = leaf(tree)?;
    (0..HALF).for_each(|_| out.rule(leaf, ruling()));
    out.report(check("HALF"));
    out.flush();
    Ok(())
}
