//! Locks that allow only one copy of a blob to a place at a time.
//!
//! Images share layers, and two concurrent copies would both upload a shared layer. Some registries
//! also fail in that case: while an upload of a blob is being completed, they report another upload
//! of it as damaged.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

use crate::digest::Digest;

type Turn = Arc<tokio::sync::Mutex<()>>;

/// Locks of the whole process, because several clients can access the same place. There is an entry
/// for each blob that is being copied.
static TURNS: LazyLock<Mutex<HashMap<(String, Digest), Turn>>> = LazyLock::new(Mutex::default);

/// Waits until no other task copies this blob to `place`. The lock is held until the result is
/// dropped.
pub(crate) async fn turn(place: String, content: Digest) -> OwnedMutexGuard<()> {
    let turn = {
        let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
        // Tasks that copy or wait hold another reference.
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry((place, content)).or_default())
    };
    turn.lock_owned().await
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn only_the_same_content_in_the_same_place_is_waited_for() {
        let [a, b] = [Digest::of(b"a"), Digest::of(b"b")];
        let held = turn("here".to_owned(), a).await;
        let mut context = Context::from_waker(Waker::noop());
        let mut second = pin!(turn("here".to_owned(), a));
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop((turn("here".to_owned(), b).await, turn("there".to_owned(), a).await));
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(held);
        drop(second.await);
        drop(turn("elsewhere".to_owned(), a).await);
        let left: Vec<_> = TURNS.lock().unwrap().keys().filter(|(place, _)| place == "here").cloned().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
