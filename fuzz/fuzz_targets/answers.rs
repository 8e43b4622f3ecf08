//! Fuzzes responses of the API server. The input is split at bytes 0xFF. Each piece is the response
//! to one request, and its first byte selects the status code. Later requests get "not found".
#![no_main]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use libfuzzer_sys::fuzz_target;
use plumbline_kubernetes::delete::{self, DeleteOptions};
use plumbline_kubernetes::{Cluster, list_nodes, own_pod_uid, plugin_pods, status};
use tower_service::Service;

const CODES: [u16; 8] = [200, 200, 200, 404, 403, 409, 429, 500];
/// More requests than this are a loop that the server controls.
const MAX_REQUESTS: usize = 10_000;

#[derive(Clone)]
struct Server {
    answers: Arc<Mutex<(VecDeque<Vec<u8>>, usize)>>,
}

impl Service<Request<Body>> for Server {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        let mut answers = self.answers.lock().expect("not poisoned");
        answers.1 += 1;
        assert!(answers.1 <= MAX_REQUESTS, "requests without end");
        let mut answer = answers.0.pop_front().unwrap_or_else(|| vec![3]);
        let code = if answer.is_empty() { 404 } else { CODES[usize::from(answer.remove(0)) % CODES.len()] };
        ready(Ok(Response::builder().status(code).body(Body::from(answer)).expect("a valid answer")))
    }
}

fuzz_target!(|input: &[u8]| {
    let answers: VecDeque<_> = input.split(|byte| *byte == 0xff).map(<[u8]>::to_vec).collect();
    // Without a real clock, pauses between attempts take no time.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let server = || Server { answers: Arc::new(Mutex::new((answers.clone(), 0))) };
        let cluster = || Cluster::new(Client::new(server(), "ns"), "fuzzed");
        // Every function gets the same responses.
        if let Ok(list) = list_nodes(&cluster()).await {
            assert!(list.nodes.is_sorted_by(|a, b| a.name < b.name), "each node once, in order");
        }
        let _ = status::read(&cluster(), "ns").await;
        let _ = plugin_pods(&cluster(), "ns", None).await;
        let _ = own_pod_uid(&cluster(), "ns", "sonobuoy", Duration::ZERO).await;
        let _ = cluster().version().await;
        let options = DeleteOptions { namespace: "ns".to_owned(), all: true, rbac: true };
        let _ = delete::plan(&cluster(), &options).await;
    });
});
