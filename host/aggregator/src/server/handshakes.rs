//! Connections that have not presented a certificate yet.
//!
//! They are separate from the connections of workers, so that peers without a certificate cannot
//! keep workers out. A handshake takes milliseconds. If there are too many, the oldest one is
//! closed: first of a peer with too many, then of all peers.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Number of concurrent handshakes of one address before its oldest one may be closed. Behind one
/// address there can be all pods of a node.
const OF_ONE_PEER: usize = 256;
/// Maximum number of concurrent handshakes. Further connections wait in the kernel's queue.
const AT_ONCE: usize = 1024;
/// Minimum time for every handshake, even over the limit.
const UNDISTURBED: Duration = Duration::from_millis(250);

/// The current handshakes.
#[derive(Default)]
pub(super) struct Handshakes(Arc<Shared>);

#[derive(Default)]
struct Shared {
    under_way: Mutex<UnderWay>,
    /// Notifies when a handshake has ended.
    left: Notify,
}

#[derive(Default)]
struct UnderWay {
    /// Entries, oldest first.
    entries: VecDeque<Entry>,
    next: u64,
}

struct Entry {
    number: u64,
    peer: IpAddr,
    since: Instant,
    end: CancellationToken,
}

impl Entry {
    fn is_old(&self, now: Instant) -> bool {
        now.duration_since(self.since) >= UNDISTURBED
    }
}

/// A slot for a handshake, released when it is dropped.
pub(super) struct Handshake {
    shared: Arc<Shared>,
    number: u64,
    end: CancellationToken,
}

impl Handshakes {
    /// Waits for a slot for a new connection of `peer`.
    pub(super) async fn enter(&self, peer: IpAddr) -> Handshake {
        loop {
            let left = self.0.left.notified();
            match self.try_enter(peer.to_canonical(), Instant::now()) {
                Ok(place) => return place,
                Err(until) => tokio::select! {
                    () = left => {}
                    () = tokio::time::sleep_until(until) => {}
                },
            }
        }
    }

    /// Returns a slot, or the time at which the oldest handshake may be closed.
    fn try_enter(&self, peer: IpAddr, now: Instant) -> Result<Handshake, Instant> {
        let mut under_way = self.0.lock();
        let of_peer = under_way.entries.iter().filter(|entry| entry.peer == peer).count();
        if of_peer >= OF_ONE_PEER
            && let Some(at) = under_way.entries.iter().position(|entry| entry.peer == peer && entry.is_old(now))
            && let Some(entry) = under_way.entries.remove(at)
        {
            entry.end.cancel();
        }
        if under_way.entries.len() >= AT_ONCE
            && let Some(oldest) = under_way.entries.front()
        {
            if !oldest.is_old(now) {
                return Err(oldest.since + UNDISTURBED);
            }
            oldest.end.cancel();
            under_way.entries.pop_front();
        }
        let number = under_way.next;
        under_way.next += 1;
        let end = CancellationToken::new();
        under_way.entries.push_back(Entry { number, peer, since: now, end: end.clone() });
        drop(under_way);
        Ok(Handshake { shared: Arc::clone(&self.0), number, end })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handshake {
    /// Waits until another handshake needs the slot.
    pub(super) async fn ended(&self) {
        self.end.cancelled().await;
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.shared.lock().entries.retain(|entry| entry.number != self.number);
        self.shared.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[tokio::test]
    async fn a_peer_with_too_many_loses_its_oldest_and_others_lose_none() {
        let handshakes = Handshakes::default();
        let start = Instant::now();
        let other = handshakes.try_enter(peer(2), start).unwrap();
        let flood: Vec<_> = (0..OF_ONE_PEER).map(|_| handshakes.try_enter(peer(1), start).unwrap()).collect();
        let later = start + UNDISTURBED;
        let _new = handshakes.try_enter(peer(1), later).unwrap();
        assert!(flood[0].end.is_cancelled() && !flood[1].end.is_cancelled());
        assert!(!other.end.is_cancelled(), "although it is older");
    }

    #[tokio::test]
    async fn young_handshakes_are_not_disturbed_and_old_ones_make_room() {
        let handshakes = Handshakes::default();
        let start = Instant::now();
        let mut all: VecDeque<_> =
            (0..AT_ONCE).map(|n| handshakes.try_enter(peer((n % 200) as u8), start).unwrap()).collect();
        assert_eq!(handshakes.try_enter(peer(250), start).err(), Some(start + UNDISTURBED));
        let _new = handshakes.try_enter(peer(250), start + UNDISTURBED).unwrap();
        assert!(all[0].end.is_cancelled());
        drop(all.pop_back());
        assert!(handshakes.try_enter(peer(251), start).is_ok(), "one has ended by itself");
    }
}
