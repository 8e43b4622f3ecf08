use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// Returns the peak usage while 16 threads repeatedly take `of(thread)` bytes each.
fn most(slots: &Slots, of: impl Fn(u64) -> u64 + Sync) -> (u64, u64) {
    let (places, memory) = ([AtomicU64::new(0), AtomicU64::new(0)], [AtomicU64::new(0), AtomicU64::new(0)]);
    let enter = |[now, most]: &[AtomicU64; 2], n| {
        most.fetch_max(now.fetch_add(n, Ordering::SeqCst) + n, Ordering::SeqCst);
    };
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (places, memory, of) = (&places, &memory, &of);
            scope.spawn(move || {
                for _ in 0..50 {
                    let _slot = slots.take(1, of(thread));
                    enter(places, 1);
                    enter(memory, of(thread));
                    std::thread::yield_now();
                    places[0].fetch_sub(1, Ordering::SeqCst);
                    memory[0].fetch_sub(of(thread), Ordering::SeqCst);
                }
            });
        }
    });
    let state = slots.lock();
    assert_eq!((state.used, state.next), (0, state.served));
    (places[1].load(Ordering::SeqCst), memory[1].load(Ordering::SeqCst))
}

#[test]
fn never_more_places_than_there_are() {
    assert!((1..=3).contains(&most(&Slots::new(3, None), |_| 1 << 40).0));
}

#[test]
fn never_more_memory_than_there_is() {
    let (places, memory) = most(&Slots::new(32, Some(100)), |thread| 10 + thread * 5);
    assert!(places > 1 && memory <= 100, "{places} places, {memory} bytes");
}

#[test]
fn a_job_larger_than_the_limit_runs_alone() {
    assert_eq!(most(&Slots::new(32, Some(100)), |_| 1000).0, 1);
}
