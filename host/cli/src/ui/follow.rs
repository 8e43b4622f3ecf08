//! Follows a run in a cluster until it ends, and displays its progress.

use std::collections::HashSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plumbline_app::earlier::EarlierRun;
use plumbline_app::report::status::period;
use plumbline_app::report::text::shortened;
use plumbline_kubernetes::status::{Look, Seen, StatusError, read, watch};
use plumbline_kubernetes::{Cluster, ClusterError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::args::shared::WaitOutput;
use crate::ui::display::{Display, announce};
use crate::ui::plugins::{RunView, head};
use crate::ui::screen::say;

/// Interval between display updates without news, so that elapsed times and resizes show.
const TICK: Duration = Duration::from_millis(250);
/// Time without a new heartbeat after which the aggregator is reported as lost: 2 min. It writes
/// its status every 15 s.
const LOST: Duration = Duration::from_secs(120);
/// Time after which following stops if something blocks the start of the aggregator: 10 min.
/// Examples are a missing image, a crashing container, or no node that accepts the pod. The limit
/// leaves time to add a node, or to fix the problem that the message names.
const HINDERED: Duration = Duration::from_secs(600);
/// Time after which following stops if the aggregator has only not reported yet: 30 min. Pulling
/// its image over a slow connection can take long.
const UNHEARD: Duration = Duration::from_secs(1800);
/// Maximum characters of a reason for waiting. Kubernetes puts the important part last in its
/// messages.
const MAX_WAITING: usize = 600;
/// Interval between direct reads of a run whose pod the watch misses because it has the labels of
/// old versions.
const LOOK: Duration = Duration::from_secs(10);

/// Why following a run ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The run is complete or failed.
    Over(Box<Seen>),
    /// The aggregator is gone, or access to it was lost.
    Gone { why: ClusterError, last: Option<Box<Seen>> },
    /// Following was cancelled.
    Cancelled {
        /// Whether the aggregator had sent no heartbeat recently.
        lost: bool,
    },
}

/// Follows the run in `namespace` until it has ended or `cancel` is cancelled, and shows it on stderr.
/// `earlier` is for estimates of the remaining time.
///
/// # Errors
///
/// Returns an error if there is no run to follow. Later problems are in [`Ended`], or are printed
/// to stderr while they may be temporary.
pub(crate) async fn follow(
    cluster: &Cluster,
    namespace: &str,
    output: WaitOutput,
    earlier: EarlierRun,
    cancel: CancellationToken,
) -> Result<Ended, StatusError> {
    let Some(first) = cancel.run_until_cancelled(read(cluster, namespace)).await else {
        return Ok(Ended::Cancelled { lost: false });
    };
    let mut follower = Follower::new(cluster.name(), output, earlier);
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
            () = cancel.cancelled() => Some(follower.cancelled()),
            look = watching.next() => match look.as_deref() {
                // The watch selects pods by the current label. Before the run is given up, it is
                // read without it.
                Some(Err(StatusError::NoPod { .. })) => {
                    unseen = Some(Instant::now());
                    follower.take(&read(cluster, namespace).await)
                }
                Some(look) => {
                    unseen = None;
                    follower.take(look)
                }
                None => Some(follower.cancelled()),
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
            return Ok(ended);
        }
    }
}

/// State of a run that is being followed.
struct Follower {
    cluster: String,
    output: WaitOutput,
    /// Until there is a display.
    earlier: EarlierRun,
    display: Option<Display>,
    last: Option<Box<Seen>>,
    /// The last heartbeat, and when this machine saw it. The clocks of the cluster and of this
    /// machine may differ.
    heartbeat: Option<(Timestamp, Instant)>,
    /// Whether a heartbeat other than the first was seen.
    heard: bool,
    reported_lost: bool,
    /// Messages printed since the run was last seen, because reasons may alternate.
    printed: HashSet<String>,
    start: Start,
}

/// Tracks how long to wait for a run that has not been seen yet.
#[derive(Default)]
struct Start {
    awaited: Option<Instant>,
    /// Since when something has blocked the start, with pauses: a crashing container runs in
    /// between.
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

    /// Returns the reason to stop waiting, once a limit is exceeded.
    fn over(&self) -> Option<ClusterError> {
        let (why, hint) = self.why.as_ref()?;
        let waited = [(self.hindered.filter(|_| self.is_hindered), HINDERED), (self.awaited, UNHEARD)];
        let (_, limit) = waited.into_iter().find(|(since, limit)| since.is_some_and(|at| at.elapsed() >= *limit))?;
        let limit = period(SignedDuration::try_from(limit).unwrap_or(SignedDuration::MAX));
        let remove =
            "the run was not changed: follow it again with `plumbline wait`, or remove it with `plumbline delete`";
        let hint = hint.as_ref().map(|hint| format!("{hint}; {remove}")).unwrap_or_else(|| remove.to_owned());
        Some(ClusterError::new("follow the run", format!("{why}; gave up after {limit}")).hint(hint))
    }
}

impl Follower {
    fn new(cluster: &str, output: WaitOutput, earlier: EarlierRun) -> Self {
        Self {
            cluster: cluster.to_owned(),
            output,
            earlier,
            display: None,
            last: None,
            heartbeat: None,
            heard: false,
            reported_lost: false,
            printed: HashSet::new(),
            start: Start::default(),
        }
    }

    /// Processes one look at the run, and returns how following ended, if it did.
    fn take(&mut self, look: &Look) -> Option<Ended> {
        match look {
            Ok(seen) => {
                self.heard(seen);
                self.printed.clear();
                self.start = Start::default();
                self.show(seen);
                self.last = Some(Box::new(seen.clone()));
                if seen.is_over() { self.last.take().map(Ended::Over) } else { None }
            }
            Err(error) if error.is_final() => {
                let why = match error {
                    StatusError::NoPod { namespace } => ClusterError::new(
                        "follow the run",
                        format!("the aggregator's pod in namespace `{namespace}` is gone"),
                    )
                    .hint("it was deleted, or its node is gone: see `kubectl get events`, and start a new run"),
                    error => {
                        ClusterError { hint: error.hint(), ..ClusterError::new("follow the run", error.to_string()) }
                    }
                };
                Some(Ended::Gone { why, last: self.last.take() })
            }
            Err(error) => {
                self.start.take(error);
                let text = shortened(&error.to_string(), MAX_WAITING);
                if self.printed.insert(text.clone()) {
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
            Display::new(self.output, std::mem::take(&mut self.earlier))
        });
        display.update(RunView::of_cluster(seen), Timestamp::now());
    }

    fn heard(&mut self, seen: &Seen) {
        let Some(heartbeat) = seen.status.heartbeat else { return };
        if self.heartbeat.is_none_or(|(last, _)| last != heartbeat) {
            if self.reported_lost {
                say("the aggregator sends heartbeats again");
            }
            self.reported_lost = false;
            self.heard = self.heartbeat.is_some();
            self.heartbeat = Some((heartbeat, Instant::now()));
        }
    }

    fn is_lost(&self) -> bool {
        self.heartbeat.is_some_and(|(_, at)| at.elapsed() > LOST)
    }

    fn cancelled(&self) -> Ended {
        // The aggregator wrote nothing while it was followed, and its last heartbeat was already old.
        let was_silent = |seen: &Seen| seen.silent_for(Timestamp::now()).is_some();
        Ended::Cancelled { lost: self.is_lost() || (!self.heard && self.last.as_deref().is_some_and(was_silent)) }
    }

    /// Checks time limits, and returns how following ended, if a limit was exceeded.
    fn pass(&mut self) -> Option<Ended> {
        if let (true, false, Some((_, at))) = (self.is_lost(), self.reported_lost, self.heartbeat) {
            let silent = SignedDuration::try_from(at.elapsed()).unwrap_or(SignedDuration::MAX);
            say(&format!("the aggregator has sent no heartbeat for {}; still waiting for it", period(silent)));
            self.reported_lost = true;
        }
        if let (Some(display), Some(last)) = (&mut self.display, &self.last) {
            display.update(RunView::of_cluster(last), Timestamp::now());
        }
        self.start.over().map(|why| Ended::Gone { why, last: self.last.take() })
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
        let mut follower = Follower::new("c", WaitOutput::Silent, EarlierRun::new());
        assert_eq!(after(&mut follower, pending(Some("ErrImagePull")), 5).await, None);
        // Without a problem the aggregator may start. Only the next look shows that it did not.
        assert_eq!(after(&mut follower, pending(Some("ContainerCreating")), 6).await, None);
        let why = after(&mut follower, pending(Some("CrashLoopBackOff")), 0).await.unwrap();
        assert!(why.contains("keeps crashing (CrashLoopBackOff): why; gave up after 10 min"), "{why}");
        assert!(why.contains("remove it with `plumbline delete"), "{why}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_only_starts_may_take_its_time_and_one_that_was_seen_all_of_it() {
        let mut follower = Follower::new("c", WaitOutput::Silent, EarlierRun::new());
        assert_eq!(after(&mut follower, pending(None), 29).await, None);
        assert!(after(&mut follower, pending(Some("ContainerCreating")), 2).await.is_some());
        let mut follower = Follower::new("c", WaitOutput::Silent, EarlierRun::new());
        assert_eq!(after(&mut follower, pending(None), 29).await, None);
        assert_eq!(after(&mut follower, running(), 600).await, None);
    }
}
