//! Tests every behavior of the guest `misbehave`, in the role `post-processor` unless it belongs to
//! another one.

use plumbline_core::{ModuleLimits, Status};
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{LogLevel, ModuleFailure};

use crate::support::{Called, endless_file, file, one_second, run};
use crate::{check, expectations, judge, network, summarizer};

/// Generates a test for each behavior. A behavior without a test does not compile.
macro_rules! tests {
    ($($variant:ident => $test:ident $body:block)+) => {
        $(
            #[test]
            fn $test() {
                const HERE: Behaviour = Behaviour::$variant;
                let body: fn(Behaviour) = $body;
                body(HERE);
            }
        )+

        #[test]
        fn every_behaviour_has_a_test() {
            let tested = |behaviour: Behaviour| match behaviour {
                $(Behaviour::$variant => stringify!($test),)+
            };
            assert!(Behaviour::ALL.iter().all(|behaviour| !tested(*behaviour).is_empty()));
        }
    };
}

/// Calls the guest without files and with the default limits.
fn plain(behaviour: Behaviour) -> Called {
    run(behaviour, Vec::new(), &ModuleLimits::default())
}

/// Asserts that the call failed with exactly this message after a number of items.
#[track_caller]
fn fails(called: &Called, sentence: &str, items: usize) {
    assert_eq!(called.failure(), sentence);
    assert_eq!(called.items.len(), items);
}

/// Asserts that the call failed with a message that starts with `beginning`.
#[track_caller]
fn fails_like(called: &Called, beginning: &str, items: usize) {
    let sentence = called.failure();
    assert!(sentence.starts_with(beginning), "{sentence}");
    assert!(sentence.len() < 2000, "a sentence, not a novel: {} bytes", sentence.len());
    assert_eq!(called.items.len(), items);
}

tests! {
    Behave => good_modules_are_not_hindered {
        |behaviour| {
            let content = "x".repeat(3 << 20);
            let files = vec![file("results/global/a", content.clone()), file("results/global/b", "")];
            let called = run(behaviour, files, &ModuleLimits::default());
            let stats = called.result.unwrap();
            assert_eq!((stats.items, stats.input_bytes, stats.log_dropped), (2, 3 << 20, 0));
            assert!(stats.memory >= 1 << 20 && stats.memory < 16 << 20, "{}", stats.memory);
            assert_eq!(called.items[0].name, "a");
            assert_eq!(called.items[0].meta["bytes"], content.len().to_string());
            assert_eq!(called.items[1].meta["bytes"], "0");
            assert!(called.items.iter().all(|item| item.status == Some(Status::Passed)));
            assert!(called.log.is_empty());
        }
    }
    Silence => nothing_emitted_is_no_failure {
        |behaviour| {
            let called = plain(behaviour);
            assert_eq!(called.result.unwrap().items, 0);
        }
    }
    EndlessLoop => endless_loops_end_with_the_clock {
        |behaviour| {
            let called = run(behaviour, Vec::new(), &one_second());
            fails(&called, "module `misbehave` exceeded its limit `wall-seconds`: 1 second", 0);
            assert!(called.result.unwrap_err().hint().unwrap().contains("plumbline.limits"));
        }
    }
    Recursion => recursion_ends_at_the_stack {
        |behaviour| fails(&plain(behaviour), "module `misbehave` exceeded its limit `stack`: 1 MiB", 0)
    }
    LargeFrames => recursion_with_arrays_ends_at_the_stack_in_memory {
        |behaviour| {
            let called = plain(behaviour);
            fails_like(&called, "module `misbehave` ", 0);
            let text = match called.result.unwrap_err() {
                ModuleFailure::Trap { trap, hint, .. } => format!("{trap}; {}", hint.unwrap_or_default()),
                other => panic!("{other}"),
            };
            assert_eq!(
                text,
                "it accessed memory out of bounds; deep recursion can be the cause: Rust and C programs keep a stack in this memory"
            );
        }
    }
    MemoryGrowth => memory_ends_at_the_limit {
        |behaviour| {
            let sentence = "module `misbehave` exceeded its limit `memory`: 256 MiB";
            fails(&plain(behaviour), sentence, 0);
            let limits = ModuleLimits { memory: 16 << 20, ..ModuleLimits::default() };
            fails(&run(behaviour, Vec::new(), &limits), "module `misbehave` exceeded its limit `memory`: 16 MiB", 0);
        }
    }
    ItemFlood => items_end_at_the_limit {
        |behaviour| {
            let limits = ModuleLimits { items: 10_000, ..ModuleLimits::default() };
            let called = run(behaviour, Vec::new(), &limits);
            // The batch that exceeds the limit is dropped completely, and all previous ones are
            // kept.
            fails(&called, "module `misbehave` exceeded its limit `items`: 10000 items", 10_000 / 256 * 256);
        }
    }
    ByteFlood => bytes_end_at_the_limit {
        |behaviour| {
            let limits = ModuleLimits { output_bytes: 10 << 20, ..ModuleLimits::default() };
            let called = run(behaviour, Vec::new(), &limits);
            fails(&called, "module `misbehave` exceeded its limit `output-bytes`: 10 MiB", 9);
        }
    }
    MetaFlood => many_small_facts_are_a_large_item {
        |behaviour| fails(&plain(behaviour), "module `misbehave` exceeded its limit `item-bytes`: 16 MiB", 0)
    }
    LogFlood => the_log_is_cut_and_says_so_and_the_call_goes_on {
        |behaviour| {
            let limits = ModuleLimits { log_bytes: 1000, ..ModuleLimits::default() };
            let called = run(behaviour, Vec::new(), &limits);
            let dropped = called.result.unwrap().log_dropped;
            assert!(dropped > 1_000_000, "{dropped}");
            assert_eq!(called.log[0], (LogLevel::Info, "line 0".into()));
            let warnings: Vec<_> = called.log.iter().filter(|(level, _)| *level == LogLevel::Warning).collect();
            assert_eq!(warnings.len(), 1);
            assert_eq!(warnings[0].1, "log limit `log-bytes` reached: 1000 bytes: later lines are dropped");
            assert!(called.log.len() < 200);
        }
    }
    LongLine => lines_are_cut_and_made_harmless {
        |behaviour| {
            let called = plain(behaviour);
            called.result.unwrap();
            let line = &called.log.last().unwrap().1;
            assert!(line.starts_with(r"\u{1b}[2J") && !line.contains('\u{1b}'), "{}", &line[..40]);
        }
    }
    HugeString => strings_beyond_a_host_call_are_not_taken {
        |behaviour| fails(&plain(behaviour), "module `misbehave` exceeded its limit `hostcall-bytes`: 32 MiB", 0)
    }
    LongName => names_have_a_length {
        |behaviour| {
            fails_like(&plain(behaviour), "module `misbehave` violated the contract: an item's name must be short: item 1 (`nnn", 0);
        }
    }
    EmptyName => names_are_not_empty {
        |behaviour| {
            let called = plain(behaviour);
            fails(&called, "module `misbehave` violated the contract: an item's name must not be empty: item 1", 0);
            assert_eq!(called.result.unwrap_err().hint(), Some("this is a defect of the module: report it to the author"));
        }
    }
    LongStatus => statuses_have_a_length {
        |behaviour| {
            let rule = "module `misbehave` violated the contract: a custom status must be short and not empty: ";
            fails(&plain(behaviour), &format!("{rule}item 1 (`item`) has a status of 300 bytes (1 to 256)"), 0);
        }
    }
    StatusFlood => statuses_end_at_their_limit {
        |behaviour| {
            let called = plain(behaviour);
            assert_eq!(called.failure(), "module `misbehave` exceeded its limit `statuses`: 1000 different statuses");
            assert!((1..=1000).contains(&called.items.len()), "{}", called.items.len());
        }
    }
    LargeDetail => items_have_a_size {
        |behaviour| fails(&plain(behaviour), "module `misbehave` exceeded its limit `item-bytes`: 16 MiB", 0)
    }
    FirstDepth => the_first_item_is_a_root {
        |behaviour| {
            fails_like(&plain(behaviour), "module `misbehave` violated the contract: items must be in pre-order", 0);
        }
    }
    DepthJump => no_level_is_left_out {
        |behaviour| {
            let rule = "items must be in pre-order, and depth may grow by at most one";
            let found = "item 2 (`grandchild of nobody`) has depth 2 after depth 0";
            fails(&plain(behaviour), &format!("module `misbehave` violated the contract: {rule}: {found}"), 1);
        }
    }
    DeepTree => trees_end_at_the_limit {
        |behaviour| fails(&plain(behaviour), "module `misbehave` exceeded its limit `depth`: 64 levels", 64)
    }
    InvalidJson => json_is_json {
        |behaviour| {
            let rule = "module `misbehave` violated the contract: a detail sent as JSON must be JSON: ";
            fails_like(&plain(behaviour), &format!("{rule}item 1 (`item`), detail `pod`: expected value"), 0);
        }
    }
    DeepJson => json_is_not_nested_without_end {
        |behaviour| {
            let called = plain(behaviour);
            fails_like(&called, "module `misbehave` violated the contract: a detail sent as JSON must be JSON", 0);
            assert!(called.failure().contains("more than 100 levels"));
        }
    }
    JsonBomb => json_counts_as_what_it_becomes {
        |behaviour| fails(&plain(behaviour), "module `misbehave` exceeded its limit `item-bytes`: 16 MiB", 0)
    }
    BadBatch => a_batch_is_taken_whole_or_not_at_all {
        |behaviour| {
            fails(&plain(behaviour), "module `misbehave` violated the contract: an item's name must not be empty: item 7", 3);
        }
    }
    PanicHalfway => what_came_before_a_panic_is_kept {
        |behaviour| {
            let called = plain(behaviour);
            fails(&called, "module `misbehave` crashed: it panicked or aborted (`unreachable`)", 3);
            let (level, line) = called.log.first().unwrap();
            assert_eq!(*level, LogLevel::Error);
            assert!(line.contains("panicked"), "{line}");
            assert!(called.log.iter().any(|(_, line)| line.contains("a result that is not there")), "{:?}", called.log);
        }
    }
    RefuseHalfway => what_came_before_a_refusal_is_kept {
        |behaviour| {
            let called = plain(behaviour);
            fails(&called, "the files of this format end here", 3);
            assert!(matches!(called.result, Err(ModuleFailure::Refused(_))));
        }
    }
    LoopHalfway => what_came_before_a_timeout_is_kept {
        |behaviour| {
            let called = run(behaviour, Vec::new(), &one_second());
            fails(&called, "module `misbehave` exceeded its limit `wall-seconds`: 1 second", 3);
        }
    }
    LongRefusal => sentences_are_cut {
        |behaviour| {
            let sentence = plain(behaviour).failure();
            assert!(sentence.len() < 20_000 && sentence.ends_with("… (3145728 bytes in all)"), "{}", sentence.len());
        }
    }
    ReadFlood => reading_ends_at_the_limit {
        |behaviour| {
            let limits = ModuleLimits { input_bytes: 10 << 20, ..ModuleLimits::default() };
            let called = run(behaviour, vec![endless_file("results/global/endless")], &limits);
            fails(&called, "module `misbehave` exceeded its limit `input-bytes`: 10 MiB", 0);
        }
    }
    Stranger => only_known_nodes_are_expected { expectations::only_known_nodes_are_expected }
    Twice => a_result_is_expected_once { expectations::a_result_is_expected_once }
    EmitOutOfRole => expectations_emit_nothing { expectations::expectations_emit_nothing }
    ReadAfterEnd => the_end_of_the_results_stays_the_end { summarizer::the_end_of_the_results_stays_the_end }
    ReadNothing => results_need_not_be_read { summarizer::results_need_not_be_read }
    RuleUnread => items_that_were_not_read_cannot_be_ruled_on { judge::items_that_were_not_read_cannot_be_ruled_on }
    RuleParent => only_leaves_are_ruled_on { judge::only_leaves_are_ruled_on }
    RuleLate => rulings_may_come_when_the_tree_is_let_go_of { judge::rulings_may_come_when_the_tree_is_let_go_of }
    RuleTwice => a_second_ruling_comes_after_the_first { judge::a_second_ruling_comes_after_the_first }
    RuleFlood => rulings_end_at_the_limit { judge::rulings_end_at_the_limit }
    BadClass => a_class_is_a_word { judge::a_class_is_a_word }
    CheckFlood => checks_are_few { judge::checks_are_few }
    RuleOutOfRole => only_a_judge_can_rule_on_items { judge::only_a_judge_can_rule_on_items }
    ClusterOutOfRole => only_a_check_can_read_the_cluster { check::only_a_check_can_read_the_cluster }
    NetworkOutOfRole => only_a_check_can_reach_hosts { network::only_a_check_can_reach_hosts }
    ProgressOutOfRole => only_a_check_can_report_progress { check::only_a_check_can_report_progress }
    ReadParent => a_parent_directory_is_not_granted { check::a_parent_directory_is_not_granted }
    ReadAbsolute => absolute_paths_lead_nowhere { check::absolute_paths_lead_nowhere }
    ReadLink => links_lead_nowhere_outside { check::links_lead_nowhere_outside }
    ListLink => links_to_directories_lead_nowhere_outside { check::links_to_directories_lead_nowhere_outside }
    ReadProcRoot => links_of_processes_lead_nowhere { check::links_of_processes_lead_nowhere }
    ReadProcOwn => memory_and_environment_of_processes_stay_closed {
        check::memory_and_environment_of_processes_stay_closed
    }
    ReadPipe => pipes_are_not_opened { check::pipes_are_not_opened }
    ReadDevice => devices_are_not_opened { check::devices_are_not_opened }
    ReadNamed => a_named_file_is_read_only_if_it_is_granted { check::a_named_file_is_read_only_if_it_is_granted }
    ReadRaced => files_that_are_replaced_while_they_are_opened_lead_nowhere {
        check::files_that_are_replaced_while_they_are_opened_lead_nowhere
    }
    ReadMounted => mounts_belong_to_the_grant_and_lead_nowhere_else {
        check::mounts_belong_to_the_grant_and_lead_nowhere_else
    }
    ReadEndless => files_without_end_end_at_the_limit { check::files_without_end_end_at_the_limit }
    StreamEndless => streams_without_end_end_at_the_limit { check::streams_without_end_end_at_the_limit }
    ListEndless => entries_of_directories_count { check::entries_of_directories_count }
    WriteFile => files_are_not_written { check::files_are_not_written }
    CreateFiles => files_are_not_created { check::files_are_not_created }
    RemoveFiles => files_are_not_removed { check::files_are_not_removed }
    RenameFile => files_are_not_renamed { check::files_are_not_renamed }
    ReadEnv => only_granted_variables_are_set { check::only_granted_variables_are_set }
    OpenFlood => open_files_are_bounded { check::open_files_are_bounded }
    StreamFlood => open_streams_are_bounded { check::open_streams_are_bounded }
    ListFlood => open_lists_of_objects_are_bounded { check::open_lists_of_objects_are_bounded }
    ObjectFlood => lists_of_objects_end_at_the_limit { check::lists_of_objects_end_at_the_limit }
    ReadObjects => objects_need_a_grant { check::objects_need_a_grant }
    ReadOtherObjects => a_grant_of_objects_covers_no_others { check::a_grant_of_objects_covers_no_others }
    WaitForObjects => items_arrive_while_a_check_waits { check::items_arrive_while_a_check_waits }
    ReadOwners => owners_are_those_of_granted_files { check::owners_are_those_of_granted_files }
    ReachHosts => hosts_need_a_grant { network::hosts_need_a_grant }
    RequestFlood => responses_end_at_the_limit { network::responses_end_at_the_limit }
    LargeRequest => requests_are_bounded { network::requests_are_bounded }
    TargetFlood => targets_of_a_call_are_bounded { network::targets_of_a_call_are_bounded }
    WaitForHost => a_check_waits_no_longer_than_its_time { network::a_check_waits_no_longer_than_its_time }
    WaitForResponse => a_check_waits_for_a_response_no_longer_than_its_time {
        network::a_check_waits_for_a_response_no_longer_than_its_time
    }
    FollowRedirect => the_target_of_a_redirect_is_a_request_of_its_own {
        network::the_target_of_a_redirect_is_a_request_of_its_own
    }
    ReachMetadata => metadata_services_need_a_grant { network::metadata_services_need_a_grant }
    Rebind => each_use_of_a_name_is_up_to_the_host { network::each_use_of_a_name_is_up_to_the_host }
    ProgressFlood => progress_arrives_at_a_bounded_rate { check::progress_arrives_at_a_bounded_rate }
}
