//! Follows a run in a cluster until it has ended, and shows it.

use std::collections::HashSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plumbline_app::report::text::shortened;
use plumbline_kubernetes::status::{Look, Seen, StatusError, read, watch};
use plumbline_kubernetes::{Cluster, ClusterError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::display::{Display, announce};
use super::plugins::{RunView, head, period};
use super::say;
use crate::args::WaitOutput;

/// The display is updated this often even without news: times in it pass, and the terminal may change its size.
const TICK: Duration = Duration::from_millis(250);
/// An aggregator that was not heard of for so long, 2 min, is told as lost: it writes every 15 s.
const LOST: Duration = Duration::from_secs(120);
/// An aggregator with something in its way (an image that is not there, a container that cannot be started or crashes, no node that takes it)
/// is given up after 10 min: a node may have to be made for it, and whoever sees the message may mend it meanwhile.
const HINDERED: Duration = Duration::from_secs(600);
/// One that has only not told anything yet, after 30 min: its image may come over a slow line.
const UNHEARD: Duration = Duration::from_secs(1800);
/// Characters of what is told while it does not start: Kubernetes puts what matters at the end of its sentences.
const MAX_WAITING: usize = 600;
/// Between two looks at a run whose pod the watch does not see, because it has the labels of old versions.
const LOOK: Duration = Duration::from_secs(10);

/// How following a run came to its end.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The run is complete, or has failed.
    Over(Box<Seen>),
    /// Its aggregator is gone, or may not be looked at any more.
    Gone {
        /// Why.
        why: ClusterError,
        /// What was seen of it last.
        last: Option<Box<Seen>>,
    },
    /// Following was cancelled.
    Cancelled {
        /// The aggregator had not been heard of lately.
        lost: bool,
    },
}

/// Follows the run in `namespace` until it has ended or `cancel` is cancelled, and shows it on stderr.
///
/// # Errors
/// When there is no run to follow in the first place. What happens later is told in [`Ended`], or on stderr while it may pass.
pub(crate) async fn follow(
    cluster: &Cluster,
    namespace: &str,
    output: WaitOutput,
    cancel: CancellationToken,
) -> Result<Ended, StatusError> {
    let Some(first) = cancel.run_until_cancelled(read(cluster, namespace)).await else {
        return Ok(Ended::Cancelled { lost: false });
    };
    let mut follower = Follower::new(cluster.name(), output);
    match first {
        Err(error) if error.is_final() || matches!(error, StatusError::Cluster(_)) => return Err(error),
        first => {
            if let Some(ended) = follower.take(&first) {
                return Ok(ended);
            }
        }
    }
    let stop = cancel.child_token();
    let mut watching = watch(cluster, namespace, stop.clone());
    let _stop = stop.drop_guard();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut unseen: Option<Instant> = None;
    loop {
        let ended = tokio::select! {
            () = cancel.cancelled() => Some(Ended::Cancelled { lost: follower.is_lost() || follower.was_never_heard(Timestamp::now()) }),
            look = watching.next() => match look.as_deref() {
                // The watch knows pods by today's label: before the run is given up, it is looked for as others would.
                Some(Err(StatusError::NoPod { .. })) => {
                    unseen = Some(Instant::now());
                    follower.take(&read(cluster, namespace).await)
                }
                Some(look) => {
                    unseen = None;
                    follower.take(look)
                }
                None => Some(Ended::Cancelled { lost: follower.is_lost() || follower.was_never_heard(Timestamp::now()) }),
            },
            _ = tick.tick() => {
                if unseen.is_some_and(|at| at.elapsed() >= LOOK) {
                    unseen = Some(Instant::now());
                    follower.take(&read(cluster, namespace).await)
                } else {
                    follower.pass()
                }
            }
        };
        if let Some(ended) = ended {
            follower.end();
            return Ok(ended);
        }
    }
}

/// What is known while a run is followed.
struct Follower {
    cluster: String,
    output: WaitOutput,
    display: Option<Display>,
    last: Option<Box<Seen>>,
    /// The last heartbeat, and when it was seen here: the clocks of cluster and this machine may differ.
    heartbeat: Option<(Timestamp, Instant)>,
    /// Another heartbeat than the first one was seen.
    heard: bool,
    told_lost: bool,
    /// What was told since the run was seen last: reasons come and go in turns.
    told: HashSet<String>,
    start: Start,
}

/// How long a run is waited for that was never seen.
#[derive(Default)]
struct Start {
    awaited: Option<Instant>,
    /// Since when something has been in its way, now and then at least: a container that crashes runs in between.
    hindered: Option<Instant>,
    is_hindered: bool,
    why: Option<(String, Option<String>)>,
}

impl Start {
    fn take(&mut self, error: &StatusError) {
        let Some(hindered) = error.hindered() else { return };
        let now = Instant::now();
        self.awaited.get_or_insert(now);
        if hindered {
            self.hindered.get_or_insert(now);
        }
        self.is_hindered = hindered;
        self.why = Some((error.to_string(), error.hint()));
    }

    /// Why it is waited for no longer.
    fn over(&self) -> Option<ClusterError> {
        let (why, hint) = self.why.as_ref()?;
        let waited = [(self.hindered.filter(|_| self.is_hindered), HINDERED), (self.awaited, UNHEARD)];
        let (_, limit) = waited.into_iter().find(|(since, limit)| since.is_some_and(|at| at.elapsed() >= *limit))?;
        let limit = period(SignedDuration::try_from(limit).unwrap_or(SignedDuration::MAX));
        let remove = "the run stays as it is: `plumbline wait` follows it again, `plumbline delete` removes it";
        let hint = hint.as_ref().map(|hint| format!("{hint}; {remove}")).unwrap_or_else(|| remove.to_owned());
        Some(ClusterError::new("follow the run", format!("{why}; it was waited for {limit}")).hint(hint))
    }
}

impl Follower {
    fn new(cluster: &str, output: WaitOutput) -> Self {
        Self {
            cluster: cluster.to_owned(),
            output,
            display: None,
            last: None,
            heartbeat: None,
            heard: false,
            told_lost: false,
            told: HashSet::new(),
            start: Start::default(),
        }
    }

    /// Takes a look in; how it ended, if it did.
    fn take(&mut self, look: &Look) -> Option<Ended> {
        match look {
            Ok(seen) => {
                self.heard(seen);
                self.told.clear();
                self.start = Start::default();
                self.show(seen);
                self.last = Some(Box::new(seen.clone()));
                if !seen.is_over() {
                    return None;
                }
                self.end();
                self.last.take().map(Ended::Over)
            }
            Err(error) if error.is_final() => {
                self.end();
                let hint = error.hint();
                let why = match error {
                    StatusError::NoPod { namespace } => ClusterError::new(
                        "follow the run",
                        format!("the aggregator's pod in namespace `{namespace}` is gone"),
                    )
                    .hint(
                        "somebody has deleted it, or its node is gone: see `kubectl get events`, and begin a new run",
                    ),
                    error => {
                        let why = ClusterError::new("follow the run", error.to_string());
                        match hint {
                            Some(hint) => why.hint(hint),
                            None => why,
                        }
                    }
                };
                Some(Ended::Gone { why, last: self.last.take() })
            }
            Err(error) => {
                self.start.take(error);
                let text = shortened(&error.to_string(), MAX_WAITING);
                if self.told.insert(text.clone()) {
                    say(&format!("waiting: {text}"));
                    if let StatusError::Pending { events, .. } = error {
                        events.iter().for_each(|event| say(&format!("         {}", shortened(event, MAX_WAITING))));
                    }
                }
                None
            }
        }
    }

    fn show(&mut self, seen: &Seen) {
        let display = self.display.get_or_insert_with(|| {
            if self.output != WaitOutput::Silent {
                announce(&head(seen, &self.cluster, Timestamp::now()));
            }
            Display::new(self.output)
        });
        display.update(RunView::of_cluster(seen), Timestamp::now());
    }

    fn heard(&mut self, seen: &Seen) {
        let Some(heartbeat) = seen.status.heartbeat else { return };
        if self.heartbeat.is_none_or(|(last, _)| last != heartbeat) {
            if self.told_lost {
                say("the aggregator is there again");
            }
            self.told_lost = false;
            self.heard = self.heartbeat.is_some();
            self.heartbeat = Some((heartbeat, Instant::now()));
        }
    }

    fn is_lost(&self) -> bool {
        self.heartbeat.is_some_and(|(_, at)| at.elapsed() > LOST)
    }

    /// The aggregator wrote nothing while it was followed, and its last heartbeat was old already.
    fn was_never_heard(&self, now: Timestamp) -> bool {
        !self.heard && self.last.as_ref().is_some_and(|seen| seen.silent_for(now).is_some())
    }

    /// Time has passed; how following ended, if that ended it.
    fn pass(&mut self) -> Option<Ended> {
        if let (true, false, Some((_, at))) = (self.is_lost(), self.told_lost, self.heartbeat) {
            let silent = SignedDuration::try_from(at.elapsed()).unwrap_or(SignedDuration::MAX);
            say(&format!("the aggregator has not been heard of for {}; still waiting for it", period(silent)));
            self.told_lost = true;
        }
        if let (Some(display), Some(last)) = (&mut self.display, &self.last) {
            display.update(RunView::of_cluster(last), Timestamp::now());
        }
        self.start.over().map(|why| Ended::Gone { why, last: self.last.take() })
    }

    fn end(&mut self) {
        if let Some(display) = &mut self.display {
            display.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use plumbline_kubernetes::status::Waiting;
    use serde_json::json;

    use super::*;

    fn pending(reason: Option<&str>) -> Look {
        let waiting = reason.map(|reason| {
            Box::new(Waiting {
                pod: "sonobuoy".to_owned(),
                plugin: None,
                node: None,
                reason: reason.to_owned(),
                message: "why".to_owned(),
                image: None,
                since: None,
            })
        });
        Err(StatusError::Pending { pod: "sonobuoy".into(), namespace: "ns".into(), waiting, events: Vec::new() })
    }

    fn running() -> Look {
        Ok(Seen {
            namespace: "ns".into(),
            pod: "sonobuoy".into(),
            status: serde_json::from_value(json!({"status": "running"})).unwrap(),
            began: None,
            restarts: 0,
            waiting: Vec::new(),
        })
    }

    async fn after(follower: &mut Follower, look: Look, minutes: u64) -> Option<String> {
        assert!(follower.take(&look).is_none());
        tokio::time::advance(Duration::from_secs(60 * minutes)).await;
        match follower.pass() {
            None => None,
            Some(Ended::Gone { why, last: None }) => Some(format!("{why}\n{}", why.hint.clone().unwrap_or_default())),
            Some(other) => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_aggregator_that_cannot_start_is_not_waited_for_without_end() {
        let mut follower = Follower::new("c", WaitOutput::Silent);
        assert_eq!(after(&mut follower, pending(Some("ErrImagePull")), 5).await, None);
        // While nothing is in its way it may start; that it did not is known by what comes next.
        assert_eq!(after(&mut follower, pending(Some("ContainerCreating")), 6).await, None);
        let why = after(&mut follower, pending(Some("CrashLoopBackOff")), 0).await.unwrap();
        assert!(why.contains("crashes again and again (CrashLoopBackOff): why; it was waited for 10 min"), "{why}");
        assert!(why.contains("`plumbline delete` removes it"), "{why}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_only_starts_may_take_its_time_and_one_that_was_seen_all_of_it() {
        let mut follower = Follower::new("c", WaitOutput::Silent);
        assert_eq!(after(&mut follower, pending(None), 29).await, None);
        assert!(after(&mut follower, pending(Some("ContainerCreating")), 2).await.is_some());
        let mut follower = Follower::new("c", WaitOutput::Silent);
        assert_eq!(after(&mut follower, pending(None), 29).await, None);
        assert_eq!(after(&mut follower, running(), 600).await, None);
    }
}
