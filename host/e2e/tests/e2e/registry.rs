//! Tests of modules that are too large to be carried into the cluster, so that the aggregator pulls
//! them itself.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::bed::Bed;
use crate::plugin::Plugin;
use crate::settings::loudly;
use crate::sink::own_address;

/// Size of incompressible padding in bytes. It exceeds the 4 MiB that are carried into the cluster.
const PADDING: usize = 6 << 20;

/// A registry that is stopped at the end of the test.
pub(crate) struct Registry {
    child: Child,
    pub(crate) host: String,
}

impl Registry {
    /// Starts a registry at an address that pods can reach. Without a registry program, prints a
    /// message and returns `None`.
    pub(crate) fn start(bed: &Bed) -> Option<Self> {
        let Some(program) = std::env::var_os("PLUMBLINE_DOCKER_REGISTRY").filter(|named| !named.is_empty()) else {
            loudly(
                "SKIPPED registry: PLUMBLINE_DOCKER_REGISTRY names no registry; `cargo xtask e2e` gets one from Debian's packages",
            );
            return None;
        };
        let Some(ip) = own_address(bed).filter(|ip| !ip.is_loopback()) else {
            loudly(
                "SKIPPED registry: pods cannot reach this machine at the address from which it talks to the API server",
            );
            return None;
        };
        // The port was free a moment ago. The server does not report which port it has chosen.
        let host = TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap().to_string();
        let config = json!({
            "version": "0.1", "log": {"level": "error"}, "http": {"addr": host, "secret": "of a test"},
            "storage": {"filesystem": {"rootdirectory": bed.path("storage")}},
        });
        let file = bed.path("registry.yml");
        fs::write(&file, config.to_string()).unwrap();
        let mut command = Command::new(program);
        command.arg("serve").arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut registry = Self { child: command.spawn().unwrap(), host };
        for _ in 0..1200 {
            if TcpStream::connect(&registry.host).is_ok() {
                return Some(registry);
            }
            assert!(registry.child.try_wait().unwrap().is_none(), "the registry ended");
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the registry does not listen");
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a valid module made large by an unused section at its end.
fn large_module() -> Vec<u8> {
    let raw = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/modules/raw.wasm");
    let mut module =
        fs::read(&raw).unwrap_or_else(|error| panic!("{}: {error}: `cargo xtask modules` makes it", raw.display()));
    let name = b"padding";
    let mut content = vec![name.len() as u8];
    content.extend_from_slice(name);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..PADDING / 8 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    // The ID of custom sections, followed by the length as LEB128.
    module.push(0);
    let mut length = content.len();
    while length >= 0x80 {
        module.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    module.push(length as u8);
    module.extend_from_slice(&content);
    module
}

#[test]
fn a_large_module_is_pulled_by_the_aggregator_and_not_carried() {
    let Some(bed) = Bed::new("registry") else { return };
    let Some(registry) = Registry::start(&bed) else { return };
    let text = Plugin::job("large").format("raw").definition(bed.image());
    let mut definition: Value = serde_json::from_str(&text).unwrap();
    definition["sonobuoy-config"]["result-format"] = "large".into();
    fs::create_dir(bed.path("large")).unwrap();
    fs::write(bed.path("large/plugin.yaml"), definition.to_string()).unwrap();
    fs::write(bed.path("large/large.wasm"), large_module()).unwrap();
    let reference = format!("oci://{}/team/large:1", registry.host);
    let insecure = ["--insecure-registry", &registry.host];
    bed.plumbline(&[&["plugin", "push", "large", &reference], &insecure[..]].concat()).expect(0);

    bed.run(&[], &[&["-p", &reference, "--wait", "--retrieve", "--dir", "out"], &insecure[..]].concat()).expect(0);

    let maps = bed.ask(bed.api::<ConfigMap>().list(&ListParams::default()));
    let carried: Vec<&ConfigMap> = maps.items.iter().filter(|map| map.binary_data.is_some()).collect();
    assert!(carried.is_empty(), "nothing of the module is in a ConfigMap: {carried:?}");
    let said = bed.command("logs", &[]).expect(0).out;
    assert!(said.contains("the bundle is ready"), "{said}");
    let archive = fs::read_dir(bed.path("out")).unwrap().next().unwrap().unwrap().path();
    let trees = bed.plumbline(&["results", archive.to_str().unwrap(), "-o", "json"]).expect(0).json();
    assert_eq!(trees[0]["name"], "large", "{trees}");
    // A format that was not found would also be processed as `raw`, with a warning.
    assert!(!trees.to_string().contains("no built-in module"), "{trees}");
    assert!(!trees[0]["items"].as_array().unwrap().is_empty(), "{trees}");
}
