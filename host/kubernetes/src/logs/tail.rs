//! Follows the log of one container, over all instances of the container.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::core::subresource::LogParams;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::lines::{LogSource, SILENCE, open, silent, what};
use super::resume::Resume;
use super::show::LogEvent;
use crate::pod_view::{ContainerState, ContainerView, PodView};

/// First and longest delay before a log is requested again. The delay doubles each time, and is
/// reset when lines arrive.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(32));

/// How long a log is still followed after its pod is gone. It ends by itself unless the node is
/// gone too.
const GONE: Duration = Duration::from_secs(30);

/// The progress of a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The number of instances that have started.
    pub(super) instances: u64,
    /// Whether the last instance is still running.
    pub(super) running: bool,
    /// Whether no other instance will start, because the pod is gone or has ended.
    pub(super) last: bool,
}

impl State {
    pub(super) fn of(pod: &PodView, container: &ContainerView) -> Self {
        let (instances, running) = match &container.state {
            // There is no status of the container, so the pod's phase is used instead.
            ContainerState::Unknown => {
                let running = pod.phase == "Running";
                (u64::from(running || pod.has_ended()), running)
            }
            // A container that waits for a restart has run before. One that waits for its first
            // start has not.
            _ => (container.restarts.saturating_add(u64::from(container.has_run())), container.is_running()),
        };
        Self { instances, running, last: pod.has_ended() }
    }
}

pub(super) struct Tail {
    pub(super) client: Client,
    pub(super) source: Arc<LogSource>,
    pub(super) state: watch::Receiver<State>,
    pub(super) to: mpsc::Sender<LogEvent>,
    /// Cancelled when the run is over. What exists then is read to its end.
    pub(super) over: CancellationToken,
    /// Limits the number of open streams.
    pub(super) permits: Arc<Semaphore>,
    /// The parameters of the first request: where in the log of the first instance to start.
    pub(super) start: LogParams,
}

/// Why reading stopped before the end of the log.
enum Stop {
    /// The connection was lost, or the server could not answer.
    Broken(String),
    /// The pod no longer exists.
    Gone,
    /// The receiver of the lines is gone.
    Unwanted,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// The current instance, followed as it grows.
    Growing,
    /// The current instance, as it is now.
    Current,
    /// The previous instance.
    Previous,
}

impl Tail {
    /// Reads until no other instance can start, or the run is over.
    pub(super) async fn run(mut self) {
        let mut resume = Resume::default();
        let mut begun = 0;
        let mut pause = PAUSES.0;
        // Whether there may be more of the instance that was read last.
        let mut again = false;
        loop {
            if self.over.is_cancelled() {
                return self.rest(&mut resume, begun).await;
            }
            let state = *self.state.borrow_and_update();
            if state.instances > begun || again {
                // A followed log holds a permit for hours. Do not wait for one beyond the end of
                // the run.
                let permits = Arc::clone(&self.permits);
                let _permit = tokio::select! {
                    permit = permits.acquire_owned() => permit,
                    () = self.over.cancelled() => continue,
                };
                let before = resume.clone();
                let over = self.over.clone();
                let read = tokio::select! {
                    read = self.instances(&mut resume, &mut begun, state) => read,
                    () = over.cancelled() => continue,
                };
                let now = *self.state.borrow();
                again = match read {
                    Ok(()) => now.running && now.instances <= begun,
                    Err(Stop::Broken(why)) => {
                        tracing::debug!("failed to {}: {why}", what(&self.source));
                        true
                    }
                    Err(Stop::Gone | Stop::Unwanted) => return,
                };
                if resume != before {
                    pause = PAUSES.0;
                }
            }
            let now = *self.state.borrow();
            if now.instances > begun {
                continue;
            }
            let gone = self.state.has_changed().is_err();
            if (now.last || gone) && !again {
                return;
            }
            tokio::select! {
                _ = self.state.changed(), if !gone => {}
                () = tokio::time::sleep(pause), if again => pause = (pause * 2).min(PAUSES.1),
                () = self.over.cancelled() => {}
            }
        }
    }

    /// Reads the rest of the previous instance, and then follows the current one.
    async fn instances(&mut self, resume: &mut Resume, begun: &mut u64, state: State) -> Result<(), Stop> {
        let another = state.instances > *begun;
        if another && *begun > 0 {
            // Every line of later instances is new.
            self.start = LogParams::default();
        }
        // The instance that was being read may have ended while the connection was down, before the
        // watch reports it. Its last lines are read before those of the next instance. If there is
        // no previous instance, that is not an error.
        if *begun > 0
            && (another || resume.since().is_some())
            && let Err(Stop::Unwanted) = self.read(resume, Part::Previous).await
        {
            return Err(Stop::Unwanted);
        }
        if another {
            resume.next_instance();
            *begun = state.instances;
        }
        let mut watched = self.state.clone();
        let gone = async move {
            // Pods that have ended still exist. The sender is dropped only when the pod is gone.
            while watched.changed().await.is_ok() {}
            tokio::time::sleep(GONE).await;
        };
        tokio::select! {
            read = self.read(resume, Part::Growing) => read,
            () = gone => Err(Stop::Gone),
        }
    }

    async fn rest(&mut self, resume: &mut Resume, begun: u64) {
        let state = *self.state.borrow();
        if state.instances == 0 {
            return;
        }
        let Ok(_permit) = Arc::clone(&self.permits).acquire_owned().await else { return };
        if state.instances > begun && begun > 0 {
            self.start = LogParams::default();
            let _nothing_left = self.read(resume, Part::Previous).await;
            resume.next_instance();
        }
        if let Err(Stop::Broken(why)) = self.read(resume, Part::Current).await {
            let notice = format!("failed to {} to its end: {why}", what(&self.source));
            // If the receiver is gone, nobody needs the notice.
            let _ = self.to.send(LogEvent::Notice(notice)).await;
        }
    }

    async fn read(&self, resume: &mut Resume, part: Part) -> Result<(), Stop> {
        // Once a line was read, its time tells where to continue.
        let start = if resume.since().is_none() { self.start.clone() } else { LogParams::default() };
        let params = LogParams {
            follow: part == Part::Growing,
            previous: part == Part::Previous,
            since_time: resume.since(),
            timestamps: true,
            ..start
        };
        let mut lines = match open(&self.client, &self.source, params).await {
            Ok(lines) => lines,
            Err(error) if error.is_not_found() => return Err(Stop::Gone),
            Err(error) => return Err(Stop::Broken(error.cause)),
        };
        let mut pass = resume.pass();
        loop {
            let next = if part == Part::Growing {
                lines.next().await
            } else {
                let next = tokio::time::timeout(SILENCE, lines.next()).await;
                next.map_err(|_| Stop::Broken(silent(&self.source).cause))?
            };
            let Some(piece) = next.map_err(|error: io::Error| Stop::Broken(error.to_string()))? else { return Ok(()) };
            // Reserve space in the queue first, so that a line counts as read only when it will be
            // delivered.
            let room = self.to.reserve().await.map_err(|_| Stop::Unwanted)?;
            if let Some(line) = resume.take(&mut pass, piece) {
                room.send(LogEvent::Line { source: Arc::clone(&self.source), line });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn state_of(status: Value) -> State {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}, "status": status});
        let pod = PodView::read(&pod).unwrap();
        State::of(&pod, &pod.containers[0])
    }

    #[test]
    fn instances_of_a_container_are_counted() {
        let container = |status: Value| state_of(json!({"phase": "Running", "containerStatuses": [status]}));
        let state = |instances, running| State { instances, running, last: false };
        assert_eq!(container(json!({"name": "c", "state": {"waiting": {}}})), state(0, false));
        assert_eq!(container(json!({"name": "c", "state": {"running": {}}, "restartCount": 0})), state(1, true));
        let crashing =
            json!({"name": "c", "state": {"waiting": {}}, "lastState": {"terminated": {}}, "restartCount": 2});
        assert_eq!(container(crashing), state(3, false));
        assert_eq!(container(json!({"name": "other"})), state(1, true));
        assert_eq!(state_of(json!({"phase": "Failed"})), State { instances: 1, running: false, last: true });
        assert_eq!(state_of(json!({})), State::default());
    }
}
