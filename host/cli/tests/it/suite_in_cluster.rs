//! The suite in a cluster, as far as an API server without nodes can show: what is checked, and
//! what is created.

use std::io::{Read, Write};
use std::net::TcpListener;

use plumbline_dev::ApiDouble;
use serde_json::Value;

use crate::bed::{Bed, Done};

/// The facts of the submitted product.
const PRODUCT: &str = "vendor: Example\nname: My Engine\nversion: 1.30\ntype: distribution\ndescription: an engine\n\
    website_url: https://example.org\ndocumentation_url: https://example.org/docs\ncontact_email_address: k8s@example.org\n";

/// The address of a registry where nothing listens.
const NO_REGISTRY: &str = "127.0.0.1:1";

struct Cluster {
    bed: Bed,
    double: ApiDouble,
}

impl Cluster {
    async fn new(version: &str) -> Self {
        let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
        double.set_version(version);
        bed.write("kubeconfig", &double.kubeconfig());
        Self { bed, double }
    }

    /// Runs the binary. The call blocks this thread, and the double answers on others.
    fn plumbline(&self, args: &[&str]) -> Done {
        let kubeconfig = self.bed.path("kubeconfig");
        let args: Vec<&str> = args.iter().copied().chain(["--kubeconfig", kubeconfig.to_str().unwrap()]).collect();
        tokio::task::block_in_place(|| self.bed.plumbline(&args))
    }

    /// The definitions that the aggregator gets.
    fn plugins(&self) -> Vec<Value> {
        let map = self.double.get("configmaps", "sonobuoy", "sonobuoy-plugins-cm").unwrap();
        let texts = map["data"].as_object().unwrap().values();
        texts.map(|text| serde_saphyr::from_str(text.as_str().unwrap()).unwrap()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vendors_version_becomes_the_images() {
    let cluster = Cluster::new("v1.30.2-eks-1552ad0").await;
    let image = format!("e2e:{NO_REGISTRY}/conformance:$SONOBUOY_K8S_VERSION");
    let done = cluster.plumbline(&["run", "--plugin-image", &image]).expect(0);
    assert!(done.err.contains("warning: failed to check whether image"), "{}", done.err);
    assert!(done.err.contains("tests of v1.30.14"), "{}", done.err);
    let plugins = cluster.plugins();
    let names: Vec<_> =
        plugins.iter().map(|plugin| plugin["sonobuoy-config"]["plugin-name"].as_str().unwrap()).collect();
    assert_eq!(names, ["e2e", "systemd-logs"]);
    assert_eq!(plugins[0]["spec"]["image"], format!("{NO_REGISTRY}/conformance:v1.30.2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_image_is_reported_before_anything_is_created() {
    let cluster = Cluster::new("v1.30.99").await;
    // A registry without images.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).unwrap();
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
        }
    });
    let image = format!("{host}/conformance:v1.30.99");
    let args = ["run", "-p", "e2e", "--kube-conformance-image", &image, "--insecure-registry", &host];
    let refused = cluster.plumbline(&args).expect(2);
    assert!(refused.err.contains(&format!("image `{image}` not found")), "{}", refused.err);
    assert!(refused.err.contains("--kubernetes-version"), "{}", refused.err);
    assert!(cluster.double.list("configmaps").is_empty());
    // The nodes may have the image anyway.
    cluster.plumbline(&[&args[..], &["--skip-preflight"]].concat()).expect(0);
    assert!(cluster.double.get("pods", "sonobuoy", "sonobuoy").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_focus_that_matches_no_test_is_reported_before_anything_is_created() {
    let cluster = Cluster::new("v1.30.1").await;
    let refused = cluster.plumbline(&["run", "-p", "e2e", "--e2e-focus", "Pods shuold be submitted"]).expect(2);
    assert!(refused.err.contains("no test selected") && refused.err.contains("Pods"), "{}", refused.err);
    assert!(cluster.double.list("pods").is_empty() && cluster.double.list("configmaps").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conformance_run_has_the_suite_alone_and_a_certificate_takes_all_of_it() {
    let cluster = Cluster::new("v1.30.2").await;
    let image = format!("{NO_REGISTRY}/conformance:v1.30.2");
    let plain = ["conformance", "run", "--kube-conformance-image", &image, "--dry-run"];
    let dry_run = cluster.plumbline(&plain).expect(0);
    assert!(dry_run.err.contains("would create pod `sonobuoy`"), "{}", dry_run.err);
    let chosen = |done: &Done| {
        let count = done.err.lines().find_map(|line| line.strip_prefix("selected ")).unwrap().to_owned();
        count.split(' ').next().unwrap().parse::<u32>().unwrap()
    };
    cluster.bed.write("PRODUCT.yaml", PRODUCT);
    let product = ["--submission-dir", "out", "--product", "PRODUCT.yaml"];
    let all = cluster.plumbline(&[&plain[..], &product].concat()).expect(0);
    assert!(chosen(&all) > chosen(&dry_run), "{} {}", dry_run.err, all.err);
    let quick = cluster.plumbline(&[&plain[..], &["--mode", "quick"]].concat()).expect(0);
    assert_eq!(chosen(&quick), 1);
    cluster.plumbline(&["conformance", "run", "--product", "PRODUCT.yaml"]).expect(2);
    let nowhere = ["conformance", "run", "--submission-dir", "out", "--product", "nowhere.yaml"];
    assert!(cluster.plumbline(&nowhere).expect(2).err.contains("failed to read `nowhere.yaml`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conformance_run_that_does_not_wait_returns_at_once() {
    let cluster = Cluster::new("v1.30.2").await;
    let image = format!("{NO_REGISTRY}/conformance:v1.30.2");
    let run = ["conformance", "run", "--kube-conformance-image", &image, "--wait=0"];
    // Its results are needed, and they do not exist yet.
    let submitted = ["--submission-dir", "out", "--product", "PRODUCT.yaml"];
    let refused = cluster.plumbline(&[&run[..], &submitted].concat()).expect(2);
    assert!(refused.err.contains("`--wait=0` does not wait for it"), "{}", refused.err);
    assert!(cluster.double.list("pods").is_empty());
    let started = cluster.plumbline(&run).expect(0);
    assert!(started.err.contains("next: `plumbline wait"), "{}", started.err);
    assert_eq!(cluster.plugins().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_required_tests_are_reported_before_the_run_starts() {
    let image = format!("{NO_REGISTRY}/conformance:v1");
    for (version, more, warned) in [
        ("v1.99.6", &[][..], true),
        ("v1.99.6", &["--required", "conformance.yaml"], false),
        ("v1.99.6", &["--required", "image"], false),
        ("v1.30.2", &[], false),
    ] {
        let cluster = Cluster::new(version).await;
        cluster.bed.write("PRODUCT.yaml", PRODUCT);
        cluster.bed.write("conformance.yaml", "[]");
        let run = ["conformance", "run", "--kube-conformance-image", &image, "--dry-run"];
        let product = ["--submission-dir", "out", "--product", "PRODUCT.yaml"];
        let stderr = cluster.plumbline(&[&run[..], &product, more].concat()).expect(0).err;
        assert_eq!(stderr.contains("the required tests of v1.99 are unknown"), warned, "{version} {more:?}: {stderr}");
        let nowhere = cluster.plumbline(&[&run[..], &product, &["--required", "nowhere.yaml"]].concat()).expect(2).err;
        assert!(nowhere.contains("failed to read `nowhere.yaml`"), "{nowhere}");
    }
}

/// Otherwise, only the end of a run would report these errors, hours later.
#[tokio::test(flavor = "multi_thread")]
async fn runs_that_cannot_be_submitted_are_rejected_before_they_start() {
    let cluster = Cluster::new("v1.30.2").await;
    cluster.bed.write("PRODUCT.yaml", PRODUCT);
    cluster.bed.write("half.yaml", "vendor: nobody\n");
    cluster.bed.write("own.yaml", "sonobuoy-config: {driver: Job, plugin-name: own}\nspec: {name: own, image: i}\n");
    let refused = |product: &str, more: &[&str]| {
        let run = ["conformance", "run", "--submission-dir", "out", "--product", product];
        cluster.plumbline(&[&run[..], more].concat()).expect(2).err
    };
    for (product, more, why) in [
        ("half.yaml", &[][..], "`half.yaml` has invalid or missing fields"),
        ("PRODUCT.yaml", &["--mode", "quick"], "`--mode quick` leaves out tests that are required"),
        ("PRODUCT.yaml", &["--e2e-dry-run"], "a dry run does not run the tests"),
        ("PRODUCT.yaml", &["--rerun-failed", "old.tar.gz"], "`--rerun-failed` runs only some of the tests"),
        ("PRODUCT.yaml", &["-p", "own.yaml"], "`--submission-dir` is for the plugin `e2e`"),
    ] {
        let message = refused(product, more);
        assert!(message.contains(why), "{why}: {message}");
    }
    assert!(cluster.double.get("pods", "sonobuoy", "sonobuoy").is_none(), "nothing was created");
}
