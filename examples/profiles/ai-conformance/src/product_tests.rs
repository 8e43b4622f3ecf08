use serde_json::json;

use super::*;

/// A file without a problem, as JSON, which is YAML too.
fn good() -> Value {
    let mut spec = Map::new();
    for (requirement, level) in Checklist::of("1.37").unwrap().requirements() {
        let must = level == Level::Must;
        let entry = json!({
            "id": requirement.id, "description": "…", "level": level.to_string(), "notes": "",
            "status": if must { "Implemented" } else { "" },
            "evidence": if must { vec!["https://docs.example.com/"] } else { Vec::new() },
        });
        let list = spec.entry(requirement.category).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(entry);
    }
    let mut metadata: Map<String, Value> =
        METADATA.iter().map(|(key, _)| ((*key).to_owned(), json!("https://example.com/"))).collect();
    metadata.insert("kubernetesVersion".to_owned(), json!("v1.37"));
    let kubernetes = "https://github.com/cncf/k8s-conformance/tree/master/v1.37/example";
    metadata.insert("k8sConformanceUrl".to_owned(), json!(kubernetes));
    json!({"metadata": metadata, "spec": spec})
}

/// Returns the problems after a change of the value at `pointer`.
fn changed(pointer: &str, value: Value) -> Product {
    let mut document = good();
    *document.pointer_mut(pointer).unwrap() = value;
    Product::read(&document.to_string(), &Checklist::of("1.37").unwrap())
}

#[test]
fn a_complete_file_has_no_problem() {
    let product = Product::read(&good().to_string(), &Checklist::of("1.37").unwrap());
    assert_eq!((product.problems, product.version.as_str(), product.statements.len()), (Vec::new(), "v1.37", 15));
    // Keys in snake case, as in the example of the programme.
    let snake =
        good().to_string().replace("websiteUrl", "website_url").replace("k8sConformanceUrl", "k8s_conformance_url");
    assert_eq!(Product::read(&snake, &Checklist::of("1.37").unwrap()).problems, Vec::<String>::new());
}

#[test]
fn invalid_products_are_reported() {
    for (pointer, value, part) in [
        ("/metadata", json!(null), "`metadata` is missing"),
        ("/metadata/vendorName", json!(""), "`metadata.vendorName` is missing"),
        ("/metadata/platformVersion", json!(1.5), "`metadata.platformVersion` is not text"),
        ("/metadata/platformName", json!("[Platform Name]"), "has the placeholder `[Platform Name]`"),
        ("/metadata/k8sConformanceUrl", json!("https://example.com"), "`metadata.k8sConformanceUrl` is not the URL"),
        ("/spec", json!([]), "`spec` is missing"),
        ("/spec/security", json!({}), "`spec.security` is not a list"),
        ("/spec/security", json!([]), "requirement `secure_accelerator_access` of `spec.security` is missing"),
        ("/spec/operator/0/id", json!("robust_controler"), "the checklist has no requirement `robust_controler`"),
        ("/spec/operator/0/level", json!("SHOULD"), "the level of `robust_controller` is not `MUST`"),
        ("/spec/operator/0/status", json!("implemented"), "unknown status `implemented`"),
        ("/spec/operator/0/status", json!(""), "`robust_controller` is a MUST, and has no status"),
        ("/spec/operator/0/status", json!("N/A"), "`robust_controller` is a MUST that may not be `N/A`"),
        ("/spec/operator/0/status", json!("Partially Implemented"), "its status is `Partially Implemented`"),
        ("/spec/operator/0/evidence", json!([]), "`robust_controller` is a MUST, and has no evidence"),
        ("/spec/operator/0/evidence", json!("https://example.com"), "is not a list of texts"),
        ("/spec/schedulingOrchestration/1/status", json!("N/A"), "is `N/A` without a reason"),
    ] {
        let product = changed(pointer, value);
        assert!(product.problems.iter().any(|problem| problem.contains(part)), "{part}: {:?}", product.problems);
    }
    for text in ["", "[]", "a: [", "a: 1\na: 2", "text"] {
        let product = Product::read(text, &Checklist::of("1.37").unwrap());
        assert!(!product.problems.is_empty() && product.statements.is_empty(), "{text}");
    }
}

#[test]
fn a_statement_of_the_wrong_form_does_not_count() {
    for (pointer, value) in [
        ("/spec/operator/0/evidence", json!([])),
        ("/spec/operator/0/level", json!("SHOULD")),
        ("/spec/operator/0/status", json!("N/A")),
        ("/spec/operator/0/evidence", json!([1])),
    ] {
        assert!(!changed(pointer, value.clone()).statements.contains_key("robust_controller"), "{pointer} {value}");
    }
    // A statement against the vendor does.
    let product = changed("/spec/operator/0/status", json!("Not Implemented"));
    assert_eq!(product.statements.get("robust_controller").unwrap().stated, Stated::NotImplemented);
    // Twice is not once.
    let mut document = good();
    let twice = document.pointer("/spec/operator/0").unwrap().clone();
    document.pointer_mut("/spec/operator").unwrap().as_array_mut().unwrap().push(twice);
    let product = Product::read(&document.to_string(), &Checklist::of("1.37").unwrap());
    assert!(product.problems.contains(&"requirement `robust_controller` is listed twice".to_owned()));
    assert!(!product.statements.contains_key("robust_controller"));
}
