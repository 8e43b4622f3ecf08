//! The software bill of materials, in CycloneDX 1.5: all crates in the program and in the modules
//! that it contains.
//!
//! It comes from `cargo metadata`. cargo-cyclonedx would write a file next to every `Cargo.toml` of
//! the workspace, and one bill for each crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{REPOSITORY, VERSION};
use crate::error::Error;
use crate::modules;
use crate::paths::Workspace;
use crate::process;
use crate::program::{PROGRAM, Platform};
use crate::target_std::Target;

/// Returns the document for the workspace. The same lock file gives the same bytes.
pub(super) fn generate(workspace: &Workspace) -> Result<Vec<u8>, Error> {
    let mut cargo = process::cargo_locked(workspace.root(), "metadata");
    cargo.args(["--format-version", "1"]);
    for triple in Platform::ALL.map(|platform| platform.triple).into_iter().chain([Target::MODULE.triple]) {
        cargo.args(["--filter-platform", triple]);
    }
    let metadata: Value = serde_json::from_str(&process::output(&mut cargo)?)
        .map_err(|error| Error::unexpected(format!("`cargo metadata` printed invalid JSON: {error}")))?;
    let lock = workspace.root().join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(Error::io("read", &lock))?;
    let roots: Vec<&str> = [PROGRAM].into_iter().chain(modules::built_in()).collect();
    Ok(document(&Graph::read(&metadata), &checksums(&lock), &roots))
}

/// The crates of `cargo metadata`, and what each needs at run time.
struct Graph<'m> {
    packages: BTreeMap<&'m str, &'m Value>,
    needs: BTreeMap<&'m str, BTreeSet<&'m str>>,
}

impl<'m> Graph<'m> {
    fn read(metadata: &'m Value) -> Self {
        let list = |pointer: &str| metadata.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        let packages: BTreeMap<&str, &Value> =
            list("/packages").filter_map(|package| Some((text(package, "id")?, package))).collect();
        let mut needs = BTreeMap::new();
        for node in list("/resolve/nodes") {
            let of_node = node.get("deps").and_then(Value::as_array).into_iter().flatten();
            let linked = of_node.filter(|dep| is_normal(dep)).filter_map(|dep| text(dep, "pkg"));
            let linked = linked.filter(|id| packages.get(id).is_some_and(|package| !is_macro(package))).collect();
            needs.extend(text(node, "id").map(|id| (id, linked)));
        }
        Self { packages, needs }
    }

    /// Returns the crates that the packages `roots` need, including themselves.
    fn reachable(&self, roots: &[&str]) -> BTreeSet<&'m str> {
        let named = |package: &Value| text(package, "name").is_some_and(|name| roots.contains(&name));
        let mut open: Vec<&str> =
            self.packages.iter().filter(|(_, package)| named(package)).map(|(id, _)| *id).collect();
        let mut found = BTreeSet::new();
        while let Some(id) = open.pop() {
            if found.insert(id) {
                open.extend(self.needs.get(id).into_iter().flatten());
            }
        }
        found
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// Returns whether a dependency is linked: neither for tests nor for build scripts only.
fn is_normal(dep: &Value) -> bool {
    let kinds = dep.get("dep_kinds").and_then(Value::as_array);
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind.get("kind").is_some_and(Value::is_null)))
}

/// Returns whether a package only runs in the compiler.
fn is_macro(package: &Value) -> bool {
    let targets = package.get("targets").and_then(Value::as_array).into_iter().flatten();
    targets.filter_map(|target| target.get("kind")?.as_array()).flatten().any(|kind| kind == "proc-macro")
}

/// Returns the checksums in a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut checksums = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
            Some(line.trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(checksum)) = (value("name"), value("version"), value("checksum")) {
            checksums.insert((name, version), checksum);
        }
    }
    checksums
}

/// Returns the reference of a package in the document, which is also its package URL.
fn purl(package: &Value) -> String {
    let of = |key: &str| text(package, key).unwrap_or_default();
    format!("pkg:cargo/{}@{}", of("name"), of("version").replace('+', "%2B"))
}

fn document(graph: &Graph<'_>, checksums: &BTreeMap<(String, String), String>, roots: &[&str]) -> Vec<u8> {
    let found = graph.reachable(roots);
    let package = |id: &str| graph.packages.get(id).copied().unwrap_or(&Value::Null);
    let mut components = Vec::new();
    let mut dependencies = Vec::new();
    let mut modules = BTreeSet::new();
    for id in &found {
        let own = package(id);
        let name = text(own, "name").unwrap_or_default();
        let needs = graph.needs.get(id).into_iter().flatten().map(|id| purl(package(id)));
        if name == PROGRAM {
            continue;
        }
        if roots.contains(&name) {
            modules.insert(purl(own));
        }
        components.push(component(own, checksums));
        dependencies.push(json!({"ref": purl(own), "dependsOn": needs.collect::<BTreeSet<_>>()}));
    }
    let program = found.iter().find(|id| text(package(id), "name") == Some(PROGRAM));
    let of_program = program.and_then(|id| graph.needs.get(id)).into_iter().flatten().map(|id| purl(package(id)));
    modules.extend(of_program);
    let root = format!("pkg:cargo/{PROGRAM}@{VERSION}");
    dependencies.insert(0, json!({"ref": root, "dependsOn": modules}));
    let mut bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": PROGRAM,
                "version": VERSION,
                "purl": root,
                "licenses": [{"expression": "Apache-2.0"}],
                "externalReferences": [{"type": "vcs", "url": REPOSITORY}],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    let serial = serial(&bom.to_string());
    if let Some(bom) = bom.as_object_mut() {
        bom.insert("serialNumber".to_owned(), serial.into());
    }
    let mut text = format!("{bom:#}").into_bytes();
    text.push(b'\n');
    text
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let of = |key: &str| text(package, key).unwrap_or_default();
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": of("name"),
        "version": of("version"),
        "purl": purl(package),
        "scope": "required",
    });
    let Some(object) = component.as_object_mut() else { return component };
    if let Some(license) = text(package, "license") {
        // Older manifests separate alternatives with a slash.
        let alternatives: Vec<&str> = license.split('/').map(str::trim).collect();
        object.insert("licenses".to_owned(), json!([{"expression": alternatives.join(" OR ")}]));
    }
    if let Some(checksum) = checksums.get(&(of("name").to_owned(), of("version").to_owned())) {
        object.insert("hashes".to_owned(), json!([{"alg": "SHA-256", "content": checksum}]));
    }
    if let Some(repository) = text(package, "repository") {
        object.insert("externalReferences".to_owned(), json!([{"type": "vcs", "url": repository}]));
    }
    component
}

/// Returns a serial number that follows from the content: a UUID of version 8, which allows that.
fn serial(content: &str) -> String {
    let mut bytes = [0_u8; 16];
    bytes.iter_mut().zip(Sha256::digest(content)).for_each(|(byte, digest)| *byte = digest);
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = *version & 0x0f | 0x80;
    *variant = *variant & 0x3f | 0x80;
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    format!("urn:uuid:{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Value {
        let package = |id: &str, name: &str, kind: &str| {
            json!({
                "id": id, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
                "targets": [{"kind": [kind]}],
            })
        };
        let dep = |id: &str, kind: Value| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        json!({
            "packages": [
                package("p", "plumbline", "bin"), package("m", "plumbline-module-tap", "cdylib"),
                package("x", "x", "bin"), package("l", "l", "lib"), package("d", "derive", "proc-macro"),
                package("t", "t", "lib"), package("q", "q", "lib"),
            ],
            "resolve": {"nodes": [
                {"id": "p", "deps": [dep("l", Value::Null), dep("d", Value::Null), dep("t", "dev".into())]},
                {"id": "m", "deps": [dep("q", Value::Null)]},
                {"id": "x", "deps": [dep("t", Value::Null)]},
                {"id": "l", "deps": []}, {"id": "d", "deps": []}, {"id": "t", "deps": []}, {"id": "q", "deps": []},
            ]},
        })
    }

    #[test]
    fn the_bill_has_what_is_linked_into_the_program_and_its_modules() {
        let metadata = metadata();
        let checksums = checksums("[[package]]\nname = \"l\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n");
        let bom = document(&Graph::read(&metadata), &checksums, &["plumbline", "plumbline-module-tap"]);
        let bom: Value = serde_json::from_slice(&bom).unwrap();
        let names: Vec<&str> =
            bom["components"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["l", "plumbline-module-tap", "q"]);
        assert_eq!(bom["components"][0]["hashes"][0]["content"], "abc");
        assert_eq!(bom["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let root = &bom["dependencies"][0];
        assert_eq!(root["ref"], bom["metadata"]["component"]["bom-ref"]);
        assert_eq!(root["dependsOn"], json!(["pkg:cargo/l@1.0.0", "pkg:cargo/plumbline-module-tap@1.0.0"]));
        let serial = bom["serialNumber"].as_str().unwrap();
        assert!(serial.len() == 45 && &serial[23..24] == "8", "{serial}");
    }
}
