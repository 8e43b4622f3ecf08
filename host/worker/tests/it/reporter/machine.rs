//! Every row of the contract's table, and Plumbline's additional ones.

use std::time::Duration;

use plumbline_worker::reporter::{
    AdapterState, Disruption, Event, Exit, FileLook, Machine, Mark, Next, Outcome, PodLook, PodNews, Rules, reasons,
};

pub(crate) const RULES: Rules = Rules { max_wait: Duration::from_secs(300), settle: Duration::from_secs(5) };

pub(crate) fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn valid(success: bool) -> FileLook {
    FileLook::Valid(Box::new(Outcome::new(success, "R", "m", None)))
}

pub(crate) fn invalid(mark: u64) -> FileLook {
    let why = "status: must be either 'success' or 'failure'".to_owned();
    FileLook::Invalid { why, mark: Mark::of(mark) }
}

fn pending(mark: u64) -> FileLook {
    FileLook::Pending { mark: Mark::of(mark) }
}

pub(crate) fn exit(code: i64, reason: &str) -> AdapterState {
    AdapterState::Ended(Exit { code, reason: (!reason.is_empty()).then(|| reason.to_owned()) })
}

pub(crate) fn pod(state: AdapterState) -> PodLook {
    PodLook { adapter: Some("a".into()), state, grace: Some(s(30)), ..PodLook::default() }
}

pub(crate) fn seen(pod: PodLook) -> Event {
    Event::Pod(PodNews::Look(Box::new(pod)))
}

fn machine() -> Machine {
    Machine::new(RULES)
}

#[track_caller]
fn done(next: Next) -> Outcome {
    match next {
        Next::Done(outcome) => outcome,
        other => panic!("not done: {other:?}"),
    }
}

/// Checks the outcome of a pod without a result file.
#[track_caller]
fn without_file(pod: PodLook, reason: &str, message: &str) {
    let mut machine = machine();
    assert_eq!(machine.on(s(1), seen(pod)), Next::Confirm { pod: false });
    let outcome = done(machine.on(s(1), Event::File(FileLook::Absent)));
    assert_eq!((outcome.success, outcome.reason.as_str(), outcome.message.as_str()), (false, reason, message));
}

#[test]
fn a_result_is_the_condition() {
    for success in [true, false] {
        let outcome = done(machine().on(s(0), Event::File(valid(success))));
        assert_eq!((outcome.success, outcome.reason.as_str(), outcome.message.as_str()), (success, "R", "m"));
    }
}

#[test]
fn a_result_takes_precedence_over_the_state_of_the_pod() {
    let evicted = PodLook { fate: Some(Disruption::Evicted { why: None }), over: true, ..pod(exit(137, "OOMKilled")) };
    let mut machine = machine();
    machine.on(s(1), Event::Terminate);
    machine.on(s(1), seen(evicted));
    assert!(done(machine.on(s(999), Event::File(valid(true)))).success);
}

#[test]
fn ends_of_the_container_have_the_promised_words() {
    let oom = "Adapter container was killed due to out of memory (OOMKilled)";
    without_file(pod(exit(137, "OOMKilled")), reasons::OUT_OF_MEMORY, oom);
    without_file(pod(exit(1, "Error")), reasons::EXITED, "Adapter container exited with code 1: Error");
    without_file(pod(exit(2, "")), reasons::EXITED, "Adapter container exited with code 2: Error");
    let start = exit(128, "StartError");
    without_file(pod(start), reasons::EXITED, "Adapter container exited with code 128: StartError");
    let missing = "Adapter container exited with code 0 and did not produce a valid result file: Completed";
    without_file(pod(exit(0, "Completed")), reasons::MISSING, missing);
    without_file(pod(exit(0, "")), reasons::MISSING, missing);
}

#[test]
fn the_fate_of_the_pod_explains_a_forced_end() {
    let with = |fate: Disruption, state: AdapterState| PodLook { fate: Some(fate), over: true, ..pod(state) };
    without_file(
        with(Disruption::Evicted { why: Some("low on memory".into()) }, exit(137, "Error")),
        reasons::EVICTED,
        "Pod was evicted before the adapter produced results: low on memory (adapter container exited with code 137: Error)",
    );
    without_file(
        with(Disruption::Preempted { why: None }, AdapterState::Running),
        reasons::EVICTED,
        "Pod was preempted before the adapter produced results",
    );
    without_file(
        with(Disruption::NodeShutdown { why: None }, AdapterState::Unknown),
        reasons::NODE_SHUTDOWN,
        "Node was shut down before the adapter produced results",
    );
    without_file(
        with(Disruption::Failed { why: "DeadlineExceeded: too long".into() }, AdapterState::Running),
        reasons::POD_FAILED,
        "Pod failed before the adapter produced results: DeadlineExceeded: too long",
    );
    without_file(
        with(Disruption::Deleted, exit(1, "Error")),
        reasons::EXITED,
        "Adapter container exited with code 1: Error (Pod was deleted before the adapter produced results)",
    );
    without_file(
        with(Disruption::Deleted, exit(137, "OOMKilled")),
        reasons::OUT_OF_MEMORY,
        "Adapter container was killed due to out of memory (OOMKilled)",
    );
    let init = Disruption::InitFailed { container: "i".into(), exit: Exit { code: 3, reason: None } };
    without_file(
        PodLook { fate: Some(init), ..pod(AdapterState::Waiting { why: None }) },
        reasons::INIT_FAILED,
        "Adapter was not started: init container `i` exited with code 3: Error",
    );
    let over = PodLook { over: true, ..pod(AdapterState::Unknown) };
    without_file(over, reasons::POD_FAILED, "Pod ended before the adapter produced results");
}

#[test]
fn a_pod_that_is_gone_was_deleted() {
    let mut machine = machine();
    machine.on(s(1), seen(pod(AdapterState::Running)));
    assert_eq!(machine.on(s(2), Event::Pod(PodNews::Gone)), Next::Confirm { pod: false });
    assert_eq!(done(machine.on(s(2), Event::File(FileLook::Absent))).reason, reasons::DELETED);
}

#[test]
fn a_pod_that_is_being_deleted_is_waited_for() {
    let mut machine = machine();
    let leaving = PodLook { fate: Some(Disruption::Deleted), ..pod(AdapterState::Running) };
    assert_eq!(machine.on(s(1), seen(leaving)), Next::Wait(s(300)));
    assert!(done(machine.on(s(9), Event::File(valid(true)))).success);
}

#[test]
fn the_time_ends_with_the_promised_words() {
    let mut machine = machine();
    assert_eq!(machine.on(s(299), Event::Tick), Next::Wait(s(300)));
    assert_eq!(machine.on(s(300), Event::Tick), Next::Confirm { pod: true });
    machine.on(s(300), seen(pod(AdapterState::Running)));
    let outcome = done(machine.on(s(301), Event::File(FileLook::Absent)));
    assert_eq!((outcome.success, outcome.reason.as_str()), (false, "AdapterTimeout"));
    assert_eq!(outcome.message, "Adapter did not produce results within 5m0s");
}

#[test]
fn a_timeout_is_reported_with_the_state_of_the_pod() {
    let at_the_end = |event: Event| {
        let mut machine = machine();
        machine.on(s(1), event);
        done(machine.on(s(300), Event::File(FileLook::Absent))).message
    };
    let why = Some("ImagePullBackOff: Back-off".to_owned());
    let waiting = at_the_end(seen(pod(AdapterState::Waiting { why })));
    let promised = "Adapter did not produce results within 5m0s";
    assert_eq!(waiting, format!("{promised} (container `a` waits: ImagePullBackOff: Back-off)"));
    let last = Exit { code: 1, reason: None };
    let again = at_the_end(seen(pod(AdapterState::Restarting { restarts: 4, last })));
    assert_eq!(
        again,
        format!("{promised} (container `a` restarted 4 times, and exited with code 1: Error the last time)")
    );
    let blind = at_the_end(Event::Pod(PodNews::Unknown("forbidden".into())));
    assert_eq!(blind, format!("{promised} (failed to read the pod: forbidden)"));
    let nobody = at_the_end(seen(PodLook::default()));
    assert_eq!(nobody, format!("{promised} (the pod has no container for the adapter)"));
    let unscheduled = PodLook { unscheduled: Some("0/3 nodes".into()), ..pod(AdapterState::Unknown) };
    assert_eq!(at_the_end(seen(unscheduled)), format!("{promised} (the pod is not scheduled: 0/3 nodes)"));
}

#[test]
fn an_invalid_result_may_be_completed_while_the_adapter_runs() {
    let mut machine = machine();
    machine.on(s(0), seen(pod(AdapterState::Running)));
    assert_eq!(machine.on(s(10), Event::File(invalid(1))), Next::Wait(s(15)));
    assert_eq!(machine.on(s(14), Event::File(invalid(2))), Next::Wait(s(19)), "it has changed");
    assert_eq!(machine.on(s(19), Event::Tick), Next::Wait(s(19)), "to know whether it changed, it is looked at");
    let outcome = done(machine.on(s(19), Event::File(invalid(2))));
    assert_eq!((outcome.success, outcome.reason.as_str()), (false, "InvalidResultFormat"));
    let promised = "Failed to parse adapter result: status: must be either 'success' or 'failure'";
    assert_eq!(outcome.message, promised);
}

#[test]
fn an_invalid_file_is_neither_a_timeout_nor_an_exit() {
    let mut late = machine();
    late.on(s(1), Event::File(FileLook::Absent));
    assert_eq!(done(late.on(s(300), Event::File(invalid(1)))).reason, reasons::INVALID);
    let mut crashed = machine();
    crashed.on(s(1), seen(pod(exit(1, "Error"))));
    let outcome = done(crashed.on(s(1), Event::File(invalid(1))));
    assert_eq!(outcome.reason, reasons::INVALID);
    assert!(
        outcome.message.ends_with("'failure' (adapter container exited with code 1: Error)"),
        "{}",
        outcome.message
    );
}

#[test]
fn a_container_that_is_started_again_is_waited_for() {
    let mut machine = machine();
    let last = Exit { code: 1, reason: Some("Error".into()) };
    let again = || seen(pod(AdapterState::Restarting { restarts: 1, last: last.clone() }));
    assert_eq!(machine.on(s(1), again()), Next::Wait(s(300)));
    machine.on(s(2), Event::Terminate);
    let outcome = done(machine.on(s(60), Event::File(FileLook::Absent)));
    assert_eq!(outcome.message, "Adapter container exited with code 1: Error");
}

#[test]
fn on_termination_the_adapter_gets_a_part_of_the_grace_period() {
    let mut known = machine();
    known.on(s(1), seen(pod(AdapterState::Running)));
    assert_eq!(known.on(s(10), Event::Terminate), Next::Wait(s(15)));
    assert_eq!(known.on(s(12), Event::Terminate), Next::Wait(s(15)), "only the first request counts");
    assert_eq!(known.on(s(15), Event::Tick), Next::Confirm { pod: true });
    let outcome = done(known.on(s(15), Event::File(FileLook::Absent)));
    assert_eq!(outcome.reason, reasons::TERMINATED);
    assert_eq!(outcome.message, "Reporter was asked to stop before the adapter produced results");
    let mut short = machine();
    short.on(s(1), seen(PodLook { grace: Some(s(2)), ..pod(AdapterState::Running) }));
    assert_eq!(short.on(s(10), Event::Terminate), Next::Wait(s(10) + Duration::from_millis(500)));
    assert_eq!(machine().on(s(10), Event::Terminate), Next::Wait(s(12)), "a pod that nobody saw");
    let mut deleted = machine();
    deleted.on(s(1), seen(PodLook { fate: Some(Disruption::Deleted), ..pod(AdapterState::Running) }));
    deleted.on(s(2), Event::Terminate);
    assert_eq!(done(deleted.on(s(7), Event::File(FileLook::Absent))).reason, reasons::DELETED);
}

#[test]
fn a_deleted_pod_is_reported_also_if_the_signal_was_lost() {
    let leaving = || seen(PodLook { fate: Some(Disruption::Deleted), deleted: true, ..pod(AdapterState::Running) });
    let mut lost = machine();
    assert_eq!(lost.on(s(1), leaving()), Next::Wait(s(16)), "half of the grace period");
    assert_eq!(lost.on(s(9), leaving()), Next::Wait(s(16)), "from when it was first seen");
    assert_eq!(lost.on(s(16), Event::Tick), Next::Confirm { pod: true });
    assert_eq!(done(lost.on(s(16), Event::File(FileLook::Absent))).reason, reasons::DELETED);
    let mut seen_before = machine();
    seen_before.on(s(1), seen(pod(AdapterState::Running)));
    assert_eq!(seen_before.on(s(2), leaving()), Next::Wait(s(300)), "the signal will come");
    let mut received = machine();
    received.on(s(1), leaving());
    assert_eq!(received.on(s(2), Event::Terminate), Next::Wait(s(7)));
}

#[test]
fn another_format_is_read_when_it_is_whole() {
    let mut quiet = machine();
    assert_eq!(quiet.on(s(1), Event::File(pending(1))), Next::Wait(s(6)));
    assert_eq!(quiet.on(s(6), Event::File(pending(1))), Next::Process);
    let result = Outcome::new(true, "R", "3 passed", None);
    assert_eq!(done(quiet.on(s(6), Event::Processed(Ok(Box::new(result))))).message, "3 passed");
    let mut ended = machine();
    ended.on(s(1), seen(pod(exit(0, ""))));
    assert_eq!(ended.on(s(1), Event::File(pending(1))), Next::Process);
    let outcome = done(ended.on(s(1), Event::Processed(Err("no tests".into()))));
    assert_eq!(
        (outcome.reason.as_str(), outcome.message.as_str()),
        (reasons::INVALID, "Failed to parse adapter result: no tests")
    );
}

#[test]
fn half_a_file_of_another_format_is_never_judged() {
    let mut machine = machine();
    machine.on(s(1), seen(pod(AdapterState::Running)));
    machine.on(s(299), Event::File(pending(1)));
    let outcome = done(machine.on(s(300), Event::File(pending(2))));
    assert_eq!(outcome.reason, reasons::TIMEOUT);
    assert!(outcome.message.ends_with("5m0s (the result file was still being written)"), "{}", outcome.message);
}

/// Returns the outcome of a file of another format with this result, and a pod in this state.
fn processed(pod: PodLook, success: bool) -> Outcome {
    let mut machine = machine();
    machine.on(s(1), seen(pod));
    assert_eq!(machine.on(s(1), Event::File(pending(1))), Next::Process);
    let result = Outcome::new(success, "R", "3 passed", Some("{\"passed\":3}".into()));
    done(machine.on(s(1), Event::Processed(Ok(Box::new(result)))))
}

#[test]
fn a_success_in_another_format_does_not_hide_a_crash() {
    for (state, reason, end) in [
        (exit(1, "Error"), reasons::EXITED, "Adapter container exited with code 1: Error"),
        (
            exit(137, "OOMKilled"),
            reasons::OUT_OF_MEMORY,
            "Adapter container was killed due to out of memory (OOMKilled)",
        ),
        (exit(0, "OOMKilled"), reasons::OUT_OF_MEMORY, "Adapter container was killed due to out of memory (OOMKilled)"),
    ] {
        let outcome = processed(pod(state), true);
        assert_eq!((outcome.success, outcome.reason.as_str()), (false, reason));
        assert_eq!(outcome.message, format!("{end} (its results: 3 passed)"));
        assert_eq!(outcome.details.as_deref(), Some("{\"passed\":3}"));
    }
    // Nobody knows how it ended.
    let evicted = PodLook { fate: Some(Disruption::Evicted { why: None }), over: true, ..pod(AdapterState::Unknown) };
    let outcome = processed(evicted, true);
    assert_eq!(outcome.reason, reasons::EVICTED);
    assert_eq!(outcome.message, "Pod was evicted before the adapter produced results (its results: 3 passed)");
    assert!(processed(pod(exit(0, "Completed")), true).success);
    // Suites exit with a nonzero code if a test failed.
    let failed = processed(pod(exit(1, "Error")), false);
    assert_eq!((failed.reason.as_str(), failed.message.as_str()), ("R", "3 passed"));
}

#[test]
fn a_file_of_another_format_waits_for_an_adapter_that_is_restarted() {
    let mut machine = machine();
    let last = Exit { code: 1, reason: None };
    machine.on(s(1), seen(pod(AdapterState::Restarting { restarts: 1, last })));
    assert_eq!(machine.on(s(1), Event::File(pending(1))), Next::Wait(s(300)));
    assert_eq!(machine.on(s(60), Event::File(pending(1))), Next::Wait(s(300)));
    let outcome = done(machine.on(s(300), Event::File(pending(1))));
    assert_eq!((outcome.success, outcome.reason.as_str()), (false, reasons::TIMEOUT));
    assert!(outcome.message.contains("restarted 1 times"), "{}", outcome.message);
}

#[test]
fn a_file_of_another_format_waits_for_a_pod_that_cannot_be_read_any_more() {
    let outdated = || {
        let mut machine = machine();
        machine.on(s(1), seen(pod(AdapterState::Running)));
        assert_eq!(machine.on(s(2), Event::File(pending(1))), Next::Wait(s(7)));
        machine.on(s(3), Event::Pod(PodNews::Unknown("no answer".into())));
        assert_eq!(machine.on(s(60), Event::File(pending(1))), Next::Wait(s(300)));
        machine
    };
    let mut crashed = outdated();
    assert_eq!(crashed.on(s(61), seen(pod(exit(1, "Error")))), Next::Confirm { pod: false });
    assert_eq!(crashed.on(s(61), Event::File(pending(1))), Next::Process);
    let passed = || Event::Processed(Ok(Box::new(Outcome::new(true, "R", "3 passed", None))));
    assert_eq!(done(crashed.on(s(61), passed())).reason, reasons::EXITED);
    let mut running = outdated();
    assert_eq!(running.on(s(61), seen(pod(AdapterState::Running))), Next::Wait(s(7)), "the file is read at once");
    assert_eq!(running.on(s(61), Event::File(pending(1))), Next::Process);
    assert!(done(running.on(s(61), passed())).success);
    let outcome = done(outdated().on(s(300), Event::File(pending(1))));
    assert_eq!(outcome.reason, reasons::TIMEOUT);
    assert!(outcome.message.ends_with("within 5m0s (failed to read the pod: no answer)"), "{}", outcome.message);
}

#[test]
fn messages_stay_within_their_bounds() {
    let why = Some("x".repeat(5000));
    let mut machine = machine();
    machine.on(s(1), seen(pod(AdapterState::Waiting { why })));
    let message = done(machine.on(s(300), Event::File(FileLook::Absent))).message;
    assert_eq!(message.chars().count(), 1024);
}
