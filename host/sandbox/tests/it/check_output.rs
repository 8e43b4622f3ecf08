//! Tests that the limits and rules of output are those of every role: a check has them too.

use plumbline_core::ModuleLimits;
use plumbline_guest_misbehave::Behaviour;

use crate::check::run_on_network;

#[test]
fn limits_and_rules_of_output_apply_to_a_check() {
    for (behaviour, failure) in [
        (Behaviour::ItemFlood, "exceeded its limit `items`: 10000 items"),
        (Behaviour::ByteFlood, "exceeded its limit `output-bytes`: 10 MiB"),
        (Behaviour::MetaFlood, "exceeded its limit `item-bytes`: 16 MiB"),
        (Behaviour::LargeDetail, "exceeded its limit `item-bytes`: 16 MiB"),
        (Behaviour::JsonBomb, "exceeded its limit `item-bytes`: 16 MiB"),
        (Behaviour::HugeString, "exceeded its limit `hostcall-bytes`: 32 MiB"),
        (Behaviour::StatusFlood, "exceeded its limit `statuses`: 1000 different statuses"),
        (Behaviour::DeepTree, "exceeded its limit `depth`: 64 levels"),
        (Behaviour::LongName, "violated the contract: an item's name must be short"),
        (Behaviour::EmptyName, "violated the contract: an item's name must not be empty"),
        (Behaviour::BadBatch, "violated the contract: an item's name must not be empty"),
        (Behaviour::LongStatus, "violated the contract: a custom status must be short and not empty"),
        (Behaviour::FirstDepth, "violated the contract: items must be in pre-order"),
        (Behaviour::DepthJump, "violated the contract: items must be in pre-order"),
        (Behaviour::InvalidJson, "violated the contract: a detail sent as JSON must be JSON"),
        (Behaviour::DeepJson, "violated the contract: a detail sent as JSON must be JSON"),
    ] {
        let limits = match behaviour {
            Behaviour::ItemFlood => ModuleLimits { items: 10_000, ..ModuleLimits::default() },
            Behaviour::ByteFlood => ModuleLimits { output_bytes: 10 << 20, ..ModuleLimits::default() },
            _ => ModuleLimits::default(),
        };
        let found = run_on_network(behaviour, None, &limits).result.unwrap_err().to_string();
        assert!(found.starts_with(&format!("module `misbehave` {failure}")), "{behaviour:?}: {found}");
    }
}

#[test]
fn log_lines_of_a_check_above_the_limit_are_dropped() {
    let limits = ModuleLimits { log_bytes: 1000, ..ModuleLimits::default() };
    let dropped = run_on_network(Behaviour::LogFlood, None, &limits).result.unwrap().log_dropped;
    assert!(dropped > 1_000_000, "{dropped}");
}
