//! Background compilation: a queue, and a few threads that end when it is empty.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// A compilation job, which takes seconds of one core.
pub type Job = Box<dyn FnOnce() + Send>;

/// A pool of threads for jobs, with at most one thread per core and per job. It does not use the
/// threads of the async runtime, because those must not block. The process can also exit while they
/// are working.
#[derive(Clone, Default)]
pub(crate) struct Pool {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Queues `job` to run as soon as a thread is available.
    pub(crate) fn submit(&self, job: Job) {
        let most = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.jobs.push_back(job);
            if queue.threads >= most {
                return;
            }
            queue.threads += 1;
        }
        let pool = self.clone();
        let started = std::thread::Builder::new().name("compile".into()).spawn(move || pool.work());
        if let Err(error) = started {
            // A module is then compiled by the task that needs it.
            tracing::warn!("failed to start a thread for compiling modules: {error}");
            self.queue.lock().unwrap_or_else(PoisonError::into_inner).threads -= 1;
        }
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            // A panic in the compiler must not end the thread. The task that needs the module
            // reports the error.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        }
    }

    /// Takes the next job. If there is none, the caller's thread ends, so the number of threads is
    /// decreased.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let job = queue.jobs.pop_front();
        if job.is_none() {
            queue.threads -= 1;
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn every_job_is_done_whatever_becomes_of_the_others() {
        let (pool, (done, all)) = (Pool::new(), mpsc::channel());
        for n in 0..50 {
            let done = done.clone();
            pool.submit(Box::new(move || {
                assert!(n != 7, "one that is interrupted");
                done.send(n).unwrap();
            }));
        }
        drop(done);
        let mut seen: Vec<i32> = all.iter().collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..50).filter(|n| *n != 7).collect::<Vec<_>>());
    }
}
