use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::call::io::ObjectPage;

/// Serves `pages` pages of `objects` objects of `bytes` bytes, and then fails if `fails`.
struct Pages {
    pages: usize,
    objects: usize,
    bytes: usize,
    fails: bool,
    requests: Arc<AtomicUsize>,
}

impl ClusterReader for Pages {
    fn list(&mut self, _: &ObjectQuery, token: Option<&str>) -> Result<ObjectPage, String> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let number: usize = token.map_or(0, |token| token.parse().unwrap());
        if self.fails && number + 1 == self.pages {
            return Err("the API server is gone".repeat(10_000));
        }
        let next = (number + 1 < self.pages).then(|| (number + 1).to_string());
        Ok(ObjectPage { objects: vec!["o".repeat(self.bytes); self.objects], next })
    }

    fn get(&mut self, _: &ObjectQuery, name: &str) -> Result<Option<String>, String> {
        Ok((name == "here").then(|| "{}".to_owned()))
    }
}

fn clock() -> Clock {
    Clock::start(60, Arc::new(AtomicBool::new(false)))
}

fn nodes() -> ObjectQuery {
    ObjectQuery { api_version: "v1".to_owned(), resource: "nodes".to_owned(), ..ObjectQuery::default() }
}

fn cluster(pages: usize, objects: usize, bytes: usize, fails: bool) -> (Cluster, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let reader = Pages { pages, objects, bytes, fails, requests: Arc::clone(&requests) };
    (Cluster::of_a_check(Some(Box::new(reader))), requests)
}

#[test]
fn pages_are_requested_when_they_are_needed_and_batches_are_bounded() {
    let (mut cluster, requests) = cluster(2, 5, 400 << 10, false);
    let (clock, meter) = (clock(), Meter::new(u64::MAX));
    let list = cluster.list(nodes(), &clock).unwrap().unwrap();
    assert_eq!(requests.load(Ordering::Relaxed), 0);
    let mut batch = || cluster.next(list, &clock, &meter).unwrap().unwrap().len();
    assert_eq!((batch(), requests.load(Ordering::Relaxed)), (3, 1));
    assert_eq!((batch(), requests.load(Ordering::Relaxed)), (2, 1));
    assert_eq!((batch(), batch(), requests.load(Ordering::Relaxed)), (3, 2, 2));
    assert_eq!((batch(), batch(), requests.load(Ordering::Relaxed)), (0, 0, 2));
    assert!(meter.read() > 4_000_000, "{}", meter.read());
}

#[test]
fn an_error_ends_a_list_and_stays() {
    let (mut cluster, requests) = cluster(2, 1, 1, true);
    let (clock, meter) = (clock(), Meter::new(u64::MAX));
    let list = cluster.list(nodes(), &clock).unwrap().unwrap();
    assert_eq!(cluster.next(list, &clock, &meter).unwrap(), Ok(vec!["o".to_owned()]));
    for _ in 0..2 {
        let reason = cluster.next(list, &clock, &meter).unwrap().unwrap_err();
        assert!(reason.starts_with("the API server is gone") && reason.len() < 20_000, "{}", reason.len());
    }
    assert_eq!(requests.load(Ordering::Relaxed), 2);
    cluster.close(list);
    assert_eq!(cluster.next(list, &clock, &meter).unwrap(), Err("the list is closed".to_owned()));
}

#[test]
fn reading_ends_at_the_limit_also_with_empty_pages() {
    let (clock, meter) = (clock(), Meter::new(10_000));
    let (mut empty, _) = cluster(usize::MAX, 0, 0, false);
    let list = empty.list(nodes(), &clock).unwrap().unwrap();
    assert_eq!(empty.next(list, &clock, &meter).unwrap_err().to_string(), "limit `input-bytes`");
}

#[test]
fn open_lists_are_bounded() {
    let (mut cluster, _) = cluster(1, 1, 1, false);
    let clock = clock();
    let lists: Vec<u32> = (0..MAX_LISTS).map(|_| cluster.list(nodes(), &clock).unwrap().unwrap()).collect();
    let reason = cluster.list(nodes(), &clock).unwrap().unwrap_err();
    assert_eq!(reason, "16 lists are open: drop one before you open another");
    cluster.close(lists[0]);
    cluster.list(nodes(), &clock).unwrap().unwrap();
}

#[test]
fn a_missing_grant_and_another_role_are_named() {
    let (clock, meter) = (clock(), Meter::new(10_000));
    let reason = Cluster::of_a_check(None).list(nodes(), &clock).unwrap().unwrap_err();
    assert_eq!(
        reason,
        "the definition grants no objects of the cluster: add `nodes` of `v1` to `plumbline.grants.kubernetes`"
    );
    let reason = Cluster::of_another_role().get(&nodes(), "a", &clock, &meter).unwrap().unwrap_err();
    assert_eq!(reason, "only a check can read objects of the cluster");
}

#[test]
fn an_object_exists_or_not() {
    let (mut cluster, _) = cluster(1, 1, 1, false);
    let (clock, meter) = (clock(), Meter::new(10_000));
    let mut get = |name: &str| cluster.get(&nodes(), name, &clock, &meter).unwrap();
    assert_eq!(get("here"), Ok(Some("{}".to_owned())));
    assert_eq!(get("elsewhere"), Ok(None));
    assert!(get("").is_err() && get(&"x".repeat(5000)).is_err());
}
