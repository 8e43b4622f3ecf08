//! Follows the log of one container, over all instances of the container.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::core::subresource::LogParams;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::event::{LogEvent, LogSource};
use super::lines::Lines;
use super::pods::State;
use super::resume::Resume;
use super::show::{SILENCE, request, what};
use crate::error::ClusterError;

/// First and longest delay before a log is requested again. The delay doubles each time, and is
/// reset when lines arrive.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(32));

/// How long a log is still followed after its pod is gone. It ends by itself unless the node is
/// gone too.
const GONE: Duration = Duration::from_secs(30);

/// Follows one container.
pub(super) struct Tail {
    pub(super) client: Client,
    pub(super) source: Arc<LogSource>,
    pub(super) state: watch::Receiver<State>,
    pub(super) to: mpsc::Sender<LogEvent>,
    /// Cancelled when the run is over. What exists then is read to its end.
    pub(super) over: CancellationToken,
    /// Limits the number of open streams.
    pub(super) seats: Arc<Semaphore>,
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

/// The part of a log to read.
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
                let seats = Arc::clone(&self.seats);
                let _seat = tokio::select! {
                    seat = seats.acquire_owned() => seat,
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

    /// Reads what exists when the run is over.
    async fn rest(&mut self, resume: &mut Resume, begun: u64) {
        let state = *self.state.borrow();
        if state.instances == 0 {
            return;
        }
        let Ok(_seat) = Arc::clone(&self.seats).acquire_owned().await else { return };
        if state.instances > begun && begun > 0 {
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
        let params = LogParams {
            follow: part == Part::Growing,
            previous: part == Part::Previous,
            since_time: resume.since(),
            timestamps: true,
            ..LogParams::default()
        };
        let broken = |error: ClusterError| Stop::Broken(error.cause);
        let request = request(&self.source, params).map_err(broken)?;
        let asked = tokio::time::timeout(SILENCE, self.client.request_stream(request)).await;
        let stream = match asked {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                let error = ClusterError::api(what(&self.source), &error);
                return Err(if error.is_not_found() { Stop::Gone } else { broken(error) });
            }
            Err(_) => return Err(silent()),
        };
        let mut lines = Lines::new(stream);
        let mut pass = resume.pass();
        loop {
            let next = if part == Part::Growing {
                lines.next().await
            } else {
                tokio::time::timeout(SILENCE, lines.next()).await.map_err(|_| silent())?
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

fn silent() -> Stop {
    Stop::Broken(format!("nothing came for {} s", SILENCE.as_secs()))
}
