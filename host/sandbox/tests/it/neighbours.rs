//! Tests that parallel calls do not affect each other.

use std::io;
use std::sync::Barrier;
use std::sync::mpsc::channel;

use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{ItemSink, ModuleFailure, NoLog, PostProcess};

use crate::support::{call, file, guest_file, misbehave, one_second, plugin, run, small_sandbox};

#[test]
fn good_calls_come_out_right_between_bad_ones() {
    let bad = [
        Behaviour::EndlessLoop,
        Behaviour::Recursion,
        Behaviour::PanicHalfway,
        Behaviour::HugeString,
        Behaviour::LargeFrames,
    ];
    let together = Barrier::new(bad.len() + 3);
    std::thread::scope(|scope| {
        for behaviour in bad {
            let together = &together;
            scope.spawn(move || {
                together.wait();
                for _ in 0..3 {
                    assert!(run(behaviour, Vec::new(), &one_second()).result.is_err());
                }
            });
        }
        for thread in 0..3 {
            let together = &together;
            scope.spawn(move || {
                together.wait();
                for n in 0..100 {
                    let content = "x".repeat(thread * 1000 + n);
                    let called = run(
                        Behaviour::Behave,
                        vec![file("results/global/a", content.clone())],
                        &ModuleLimits::default(),
                    );
                    assert_eq!(called.result.unwrap().items, 1);
                    assert_eq!(called.items[0].meta["bytes"], content.len().to_string());
                }
            });
        }
    });
}

#[test]
fn nothing_is_left_of_a_call_for_the_next() {
    // With one slot, every call gets the memory of the previous one.
    let module = small_sandbox(1).load("misbehave", &guest_file("misbehave.wasm")).unwrap();
    let memory = |behaviour| {
        call(&module, &plugin(behaviour), Vec::new(), &ModuleLimits::default()).result.map(|stats| stats.memory)
    };
    let before = memory(Behaviour::Behave).unwrap();
    memory(Behaviour::MemoryGrowth).unwrap_err();
    assert_eq!(memory(Behaviour::Behave).unwrap(), before);
}

#[test]
fn more_calls_than_slots_wait_for_their_turn() {
    let module = small_sandbox(2).load("misbehave", &guest_file("misbehave.wasm")).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    call(&module, &plugin(Behaviour::Behave), Vec::new(), &ModuleLimits::default()).result.unwrap();
                }
            });
        }
    });
}

#[test]
fn a_sink_that_fails_ends_the_call() {
    struct Full(u32);
    impl ItemSink for Full {
        fn item(&mut self, _: FlatItem) -> io::Result<()> {
            self.0 -= 1;
            if self.0 == 0 { Err(io::Error::other("no space left")) } else { Ok(()) }
        }
    }
    let plugin = plugin(Behaviour::ItemFlood);
    let call = PostProcess { plugin: &plugin, files: Vec::new(), limits: &ModuleLimits::default() };
    let failure = misbehave().post_process(call, &mut Full(1000), &mut NoLog).unwrap_err();
    assert!(matches!(&failure, ModuleFailure::Host(error) if error.to_string() == "no space left"), "{failure}");
}

#[test]
fn items_arrive_while_the_module_runs() {
    // The sink receives the first items of a module that never ends by itself, and then stops it.
    struct First(std::sync::mpsc::Sender<String>);
    impl ItemSink for First {
        fn item(&mut self, item: FlatItem) -> io::Result<()> {
            self.0.send(item.name).map_err(io::Error::other)
        }
    }
    let (sender, receiver) = channel();
    let call = std::thread::spawn(move || {
        let plugin = plugin(Behaviour::ItemFlood);
        let limits = ModuleLimits { items: u64::MAX, ..ModuleLimits::default() };
        let call = PostProcess { plugin: &plugin, files: Vec::new(), limits: &limits };
        misbehave().post_process(call, &mut First(sender), &mut NoLog)
    });
    assert_eq!(receiver.recv().unwrap(), "item");
    drop(receiver);
    assert!(matches!(call.join().unwrap(), Err(ModuleFailure::Host(_))));
}
