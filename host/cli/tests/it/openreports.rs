//! Reports for OpenReports have the schema of its custom resources.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};

use crate::bed::Bed;
use crate::generate::documents;

const CLUSTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/cluster");
const SONOBUOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/results/results-4-e2e-failures.tar.gz");

/// The Go module with the custom resource definitions of the project.
const MODULE: &str = "github.com/openreports/reports-api@v0.2.1";

/// The kinds, the files with their custom resource definitions, and the options for each.
const KINDS: [(&str, &str, &[&str]); 2] = [
    ("ClusterReport", "openreports.io_clusterreports.yaml", &[]),
    ("Report", "openreports.io_reports.yaml", &["--namespace", "checks"]),
];

/// Downloads the module, and returns the directory of the custom resource definitions. `None` if there is no Go, or
/// its modules cannot be downloaded.
fn definitions() -> Option<PathBuf> {
    let mut go = Command::new("go");
    go.args(["mod", "download", "-json", MODULE]).env("GOTOOLCHAIN", "local").env("GOFLAGS", "");
    let output = go.current_dir("/").stdin(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    let module: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(PathBuf::from(module["Dir"].as_str().unwrap()).join("config/crd"))
}

/// Makes a schema reject unknown keys, as `kubectl` does. That of metadata names no keys.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            let is_object = keys.get("type").is_some_and(|kind| kind == "object");
            if is_object && keys.get("properties").is_some_and(Value::is_object) {
                keys.insert("additionalProperties".to_owned(), json!(false));
            }
            keys.values_mut().for_each(close);
        }
        Value::Array(all) => all.iter_mut().for_each(close),
        _ => {}
    }
}

fn compiled(crd: &str) -> (Schemas, SchemaIndex) {
    let mut schema = documents(crd).remove(0)["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take();
    assert!(schema.is_object(), "{schema}");
    close(&mut schema);
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("report", schema).unwrap();
    let index = compiler.compile("report", &mut schemas).unwrap();
    (schemas, index)
}

#[test]
fn reports_have_the_schema_of_the_custom_resources() {
    let Some(definitions) = definitions() else {
        eprintln!("SKIPPED: reports have the schema of the custom resources: `go` cannot download {MODULE}");
        return;
    };
    let bed = Bed::new();
    for (kind, file, options) in KINDS {
        let (schemas, index) = compiled(&fs::read_to_string(definitions.join(file)).unwrap());
        let violation = |report: &Value| schemas.validate(report, index).err().map(|error| error.to_string());
        for (archive, code) in [(CLUSTER, 3), (SONOBUOY, 1)] {
            let args = [&["results", archive, "-o", "openreports"], options].concat();
            let reports = documents(&bed.plumbline(&args).expect(code).out);
            assert!(!reports.is_empty(), "{archive}");
            for report in &reports {
                assert_eq!((report["kind"].as_str(), violation(report)), (Some(kind), None), "{report:#}");
            }
            // The schema notices what is wrong.
            for (key, wrong) in
                [("result", json!("passed")), ("policy", json!(1)), ("scored", json!("yes")), ("unknown", json!(1))]
            {
                let mut changed = reports[0].clone();
                changed["results"][0][key] = wrong;
                assert!(violation(&changed).is_some(), "{key}");
            }
        }
    }
}
