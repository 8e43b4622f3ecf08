//! The state machine under all orders of events.

use std::time::Duration;

use plumbline_worker::reporter::{
    AdapterState, Disruption, Event, Exit, FileLook, Machine, Mark, Next, PodLook, PodNews, reasons,
};
use proptest::prelude::*;

use crate::reporter::machine::{RULES, exit, invalid, pod, s, seen, valid};

fn a_state() -> impl Strategy<Value = AdapterState> {
    prop_oneof![
        Just(AdapterState::Unknown),
        Just(AdapterState::Waiting { why: Some("ImagePullBackOff".into()) }),
        Just(AdapterState::Running),
        Just(AdapterState::Restarting { restarts: 2, last: Exit { code: 1, reason: None } }),
        prop_oneof![Just(exit(0, "")), Just(exit(1, "Error")), Just(exit(137, "OOMKilled")), Just(exit(143, ""))],
    ]
}

fn a_fate() -> impl Strategy<Value = Option<Disruption>> {
    prop_oneof![
        4 => Just(None),
        1 => Just(Some(Disruption::Deleted)),
        1 => Just(Some(Disruption::Evicted { why: Some("low".into()) })),
        1 => Just(Some(Disruption::InitFailed { container: "i".into(), exit: Exit { code: 1, reason: None } })),
    ]
}

fn an_event() -> impl Strategy<Value = Event> {
    let look = (a_state(), a_fate(), prop::option::of(0_u64..60), prop::bool::weighted(0.1));
    prop_oneof![
        3 => Just(Event::File(FileLook::Absent)),
        3 => (0_u64..3).prop_map(|mark| Event::File(invalid(mark))),
        1 => (0_u64..3).prop_map(|mark| Event::File(FileLook::Pending { mark: Mark::of(mark) })),
        1 => any::<bool>().prop_map(|success| Event::File(valid(success))),
        4 => look.prop_map(|(state, fate, grace, over)| {
            let deleted = fate == Some(Disruption::Deleted);
            seen(PodLook { fate, over, deleted, grace: grace.map(s), ..pod(state) })
        }),
        1 => Just(Event::Pod(PodNews::Gone)),
        1 => Just(Event::Pod(PodNews::Unknown("forbidden".into()))),
        1 => Just(Event::Terminate),
        3 => Just(Event::Tick),
    ]
}

proptest! {
    /// For events in any order, only a read of the file decides. A valid file always decides, and
    /// so does any read after the end of the wait.
    #[test]
    fn only_a_look_decides_and_it_does(events in prop::collection::vec((0_u64..40_000, an_event()), 1..60)) {
        let mut machine = Machine::new(RULES);
        let mut now = Duration::ZERO;
        for (pause, event) in events {
            now += Duration::from_millis(pause);
            let (is_look, is_valid) = (
                matches!(event, Event::File(_)),
                matches!(event, Event::File(FileLook::Valid(_))),
            );
            match machine.on(now, event) {
                Next::Done(outcome) => {
                    prop_assert!(is_look);
                    prop_assert!(is_valid || !outcome.success);
                    prop_assert!(!outcome.reason.is_empty() && outcome.message.chars().count() <= 1024);
                    return Ok(());
                }
                Next::Process => {
                    prop_assert!(is_look);
                    let done = machine.on(now, Event::Processed(Err("rubbish".into())));
                    prop_assert!(matches!(done, Next::Done(outcome) if outcome.reason == reasons::INVALID));
                    return Ok(());
                }
                Next::Confirm { .. } => prop_assert!(!is_look),
                Next::Wait(until) => {
                    prop_assert!(now < RULES.max_wait && until <= RULES.max_wait);
                }
            }
            prop_assert!(!is_valid);
        }
    }

    /// In this simulation the adapter writes, with pauses shorter than the settle time, and then
    /// ends. The reported outcome must match the actual one, regardless of when file and pod are
    /// read.
    #[test]
    fn the_outcome_is_that_of_the_world(
        writes in prop::collection::vec((1_u64..4_000, any::<bool>()), 0..6),
        last in prop_oneof![Just(None), Just(Some(true)), Just(Some(false))],
        ended in prop_oneof![Just(exit(0, "Completed")), Just(exit(1, "Error")), Just(exit(137, "OOMKilled"))],
        lag in 0_u64..8_000,
        looks in prop::collection::vec((1_u64..2_500, prop::bool::weighted(0.4)), 1..60),
    ) {
        // The states of the file, each from a point in time. `last` is the final state: a result,
        // or an invalid file.
        let mut time = 0;
        let mut states = vec![(0, FileLook::Absent)];
        for (number, (pause, there)) in writes.iter().enumerate() {
            time += pause;
            states.push((time, if *there { invalid(number as u64) } else { FileLook::Absent }));
        }
        time += 1;
        states.push((time, match last {
            None => FileLook::Absent,
            Some(true) => valid(true),
            Some(false) => invalid(99),
        }));
        let end = time + 1;
        let file_at = |now: u64| states.iter().rev().find(|(from, _)| *from <= now).unwrap().1.clone();
        // The pod shows the end with a delay.
        let pod_at = |now: u64| pod(if now >= end + lag { ended.clone() } else { AdapterState::Running });

        let mut machine = Machine::new(RULES);
        let mut now = 0;
        // The final steps decide whatever the random ones leave open.
        let rest = std::iter::repeat_n((2_500, false), 4).chain([(60_000, true), (1, false)]);
        let mut outcome = None;
        'world: for (pause, at_pod) in looks.into_iter().chain(rest) {
            now += pause;
            let ms = Duration::from_millis;
            let event = if at_pod { seen(pod_at(now)) } else { Event::File(file_at(now)) };
            let mut next = machine.on(ms(now), event);
            loop {
                next = match next {
                    Next::Done(done) => {
                        outcome = Some(done);
                        break 'world;
                    }
                    Next::Wait(_) => break,
                    Next::Process => unreachable!("no other format"),
                    Next::Confirm { .. } => {
                        machine.on(ms(now), Event::File(file_at(now)))
                    }
                };
            }
        }
        let expected = match (last, &ended) {
            (Some(true), _) => "R",
            (Some(false), _) => reasons::INVALID,
            (None, AdapterState::Ended(exit)) if exit.is_out_of_memory() => reasons::OUT_OF_MEMORY,
            (None, AdapterState::Ended(exit)) if exit.code != 0 => reasons::EXITED,
            (None, _) => reasons::MISSING,
        };
        prop_assert_eq!(outcome.expect("decided").reason, expected);
    }
}
