//! The environment of one test: a local directory and a namespace, which are removed when it ends.

use std::fmt::Debug;
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::{Event, Namespace, Node, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, ListParams, LogParams, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::diagnosis;
use crate::plugin::Plugin;
use crate::settings::{Settings, loudly};
use crate::turns::{self, Lock};

/// Timeout for all operations: more than anything takes in a small cluster on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);
/// How long the deletion of a namespace may take: longer than the grace period of any pod in it.
const CLEANUP: Duration = Duration::from_secs(180);

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Done {
    /// Panics with the whole output, unless the exit code is `code`.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- stdout\n{}\n--- stderr\n{}", self.out, self.err);
        self
    }

    /// Returns stdout as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.out, self.err))
    }
}

/// The environment of one test.
pub(crate) struct Bed {
    settings: Settings,
    runtime: Runtime,
    client: Client,
    namespace: String,
    dir: TempDir,
    /// The name of the test, and when it got its turn.
    started: (String, Instant),
    // The last field, so that it is released after everything else.
    _turn: Lock,
}

impl Bed {
    /// Returns an environment for `test`, or `None` without a cluster. It only chooses the name of
    /// the namespace: the code under test creates it.
    pub(crate) fn new(test: &str) -> Option<Self> {
        Self::in_turn(test, turns::shared)
    }

    /// The same, without other tests at the same time. Use it for tests that disturb nodes.
    pub(crate) fn alone(test: &str) -> Option<Self> {
        Self::in_turn(test, turns::alone)
    }

    fn in_turn(test: &str, turn: fn() -> Lock) -> Option<Self> {
        let settings = Settings::from_env(test)?;
        let turn = turn();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(&settings.kubeconfig).unwrap();
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
            Client::try_from(config).unwrap()
        });
        // Unique among tests and test runs, because a run that was killed may have left its
        // namespace behind.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() & 0xff_ffff_ffff;
        let namespace = format!("e2e-{test}-{now:x}");
        Some(Self {
            settings,
            runtime,
            client,
            namespace,
            dir: tempfile::tempdir().unwrap(),
            started: (test.to_owned(), Instant::now()),
            _turn: turn,
        })
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the API for a cluster-scoped kind.
    pub(crate) fn cluster_api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::ClusterResourceScope, DynamicType = ()>,
    {
        Api::all(self.client.clone())
    }

    /// Returns the image under test.
    pub(crate) fn image(&self) -> &str {
        &self.settings.image
    }

    /// Returns the version of the API server, such as `v1.37.2`.
    pub(crate) fn version(&self) -> String {
        self.ask(self.client.apiserver_version()).git_version
    }

    /// Returns the minor version of the API server, such as 37.
    pub(crate) fn minor(&self) -> u32 {
        self.version().split('.').nth(1).unwrap().parse().unwrap()
    }

    /// Returns a path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the API for a kind in the namespace.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Returns the API for a kind in another namespace.
    pub(crate) fn api_in<K>(&self, namespace: &str) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Returns the API for a kind in all namespaces.
    pub(crate) fn api_in_all<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::all(self.client.clone())
    }

    /// Runs a request to the cluster, which must succeed within the timeout.
    #[track_caller]
    pub(crate) fn ask<T, E: Debug>(&self, what: impl Future<Output = Result<T, E>>) -> T {
        match self.runtime.block_on(async { tokio::time::timeout(DEADLINE, what).await }) {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => panic!("{error:?}"),
            Err(_) => panic!("no answer in {DEADLINE:?}"),
        }
    }

    /// Runs the program as a user with this cluster in the kubeconfig.
    pub(crate) fn plumbline(&self, args: &[&str]) -> Done {
        self.program(&self.settings.binary, args)
    }

    /// Runs another program in the same way.
    pub(crate) fn program(&self, program: &Path, args: &[&str]) -> Done {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir.path()).env("HOME", self.path("home"));
        command.env("KUBECONFIG", &self.settings.kubeconfig);
        for name in ["CI", "NO_COLOR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
        let output = assert_cmd::Command::from_std(command).timeout(DEADLINE).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Done { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs `COMMAND -n NAMESPACE ARGS…`.
    pub(crate) fn command(&self, command: &str, args: &[&str]) -> Done {
        self.plumbline(&[&[command, "-n", &self.namespace], args].concat())
    }

    /// Runs `run` with these plugins and the image under test.
    pub(crate) fn run(&self, plugins: &[Plugin], more: &[&str]) -> Done {
        self.with_plugins("run", plugins, more)
    }

    /// Runs `run` or `gen` with these plugins and the image under test.
    pub(crate) fn with_plugins(&self, command: &str, plugins: &[Plugin], more: &[&str]) -> Done {
        let mut args: Vec<String> =
            [command, "-n", &self.namespace, "--image-pull-policy", "IfNotPresent"].map(str::to_owned).to_vec();
        args.extend(["--image".to_owned(), self.settings.image.clone()]);
        args.extend(self.definitions(plugins));
        let all: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
        self.plumbline(&all)
    }

    /// Writes the definitions of these plugins, with the image under test. Returns the arguments
    /// for them.
    pub(crate) fn definitions(&self, plugins: &[Plugin]) -> Vec<String> {
        let write = |plugin: &Plugin| {
            let file = format!("{}.yaml", plugin.name());
            fs::write(self.path(&file), plugin.definition(&self.settings.image)).unwrap();
            ["-p".to_owned(), file]
        };
        plugins.iter().flat_map(write).collect()
    }

    /// Returns the names of the nodes.
    pub(crate) fn nodes(&self) -> Vec<String> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let list = self.ask(nodes.list(&ListParams::default()));
        let mut names: Vec<String> = list.items.into_iter().filter_map(|node| node.metadata.name).collect();
        names.sort();
        names
    }

    /// Returns whether the namespace exists and is not being deleted.
    pub(crate) fn exists(&self) -> bool {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let found = self.ask(namespaces.get_opt(&self.namespace));
        found.is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_none())
    }

    /// Creates the namespace, for a test without a run.
    pub(crate) fn create_namespace(&self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": self.namespace}})).unwrap();
        self.ask(namespaces.create(&PostParams::default(), &namespace));
    }

    /// Creates a pod with one container of the image, and waits for its end. `container` is merged
    /// into the container.
    pub(crate) fn pod(&self, name: &str, args: &[&str], container: &Value) -> Pod {
        let mut spec = json!({
            "name": "c",
            "image": self.settings.image,
            "imagePullPolicy": "IfNotPresent",
            "args": args,
            "volumeMounts": [{"name": "results", "mountPath": "/tmp/sonobuoy/results"}],
        });
        for (key, value) in container.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let pod = json!({
            "metadata": {"name": name},
            "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": false,
                "containers": [spec],
                "volumes": [{"name": "results", "emptyDir": {}}],
            },
        });
        let pods: Api<Pod> = self.api();
        self.ask(pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()));
        self.wait_for_pod(name, |pod| ["Succeeded", "Failed"].contains(&phase(pod)))
    }

    /// Waits until a pod meets a condition.
    #[track_caller]
    pub(crate) fn wait_for_pod(&self, name: &str, good: impl Fn(&Pod) -> bool) -> Pod {
        let condition = |pod: Option<&Pod>| pod.is_some_and(&good);
        self.ask(await_condition(self.api::<Pod>(), name, condition)).unwrap()
    }

    /// Returns the log of a container.
    pub(crate) fn logs(&self, pod: &str, container: &str) -> String {
        let params = LogParams { container: Some(container.to_owned()), ..LogParams::default() };
        self.ask(self.api::<Pod>().logs(pod, &params))
    }

    /// Returns the messages of the namespace's events about pulled images.
    pub(crate) fn pulled(&self) -> Vec<String> {
        let events = self.ask(self.api::<Event>().list(&ListParams::default()));
        let pulled = events.into_iter().filter(|event| event.reason.as_deref() == Some("Pulled"));
        pulled.filter_map(|event| event.message).collect()
    }

    /// Deletes what the test created, and waits for the namespace. Its pods would use resources
    /// that the next test needs.
    async fn clean_up(&self) -> kube::Result<()> {
        let of_run = ListParams::default().labels(&format!("namespace={}", self.namespace));
        let delete = DeleteParams::background();
        Api::<ClusterRoleBinding>::all(self.client.clone()).delete_collection(&delete, &of_run).await?;
        Api::<ClusterRole>::all(self.client.clone()).delete_collection(&delete, &of_run).await?;
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let Some(namespace) = namespaces.get_opt(&self.namespace).await? else { return Ok(()) };
        let uid = namespace.metadata.uid.unwrap_or_default();
        if namespace.metadata.deletion_timestamp.is_none() {
            namespaces.delete(&self.namespace, &DeleteParams::default()).await?;
        }
        // An interrupted watch must not fail a test that has passed.
        let _ = await_condition(namespaces, &self.namespace, conditions::is_deleted(&uid)).await;
        Ok(())
    }
}

/// Returns the phase of a pod.
pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

impl Drop for Bed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let text = self.runtime.block_on(diagnosis::of(&self.client, &self.namespace));
            loudly(&format!("---- what is in namespace `{}`\n{text}", self.namespace));
        }
        if self.settings.keep {
            loudly(&format!("namespace `{}` stays, as PLUMBLINE_E2E_KEEP says", self.namespace));
            return;
        }
        let cleaned = self.runtime.block_on(async { tokio::time::timeout(CLEANUP, self.clean_up()).await });
        match cleaned {
            Ok(Ok(())) => {}
            Ok(Err(error)) => loudly(&format!("namespace `{}` could not be removed: {error}", self.namespace)),
            Err(_) => loudly(&format!("namespace `{}` is still not gone", self.namespace)),
        }
        let (test, start) = &self.started;
        loudly(&format!("{test}: {} s", start.elapsed().as_secs()));
    }
}
