use super::*;

#[test]
fn the_contract_inside_this_program_parses_and_has_the_default_world() {
    assert!(worlds().unwrap().iter().any(|world| world == DEFAULT_WORLD));
    let (resolve, id) = world(None, DEFAULT_WORLD).unwrap();
    assert_eq!(wanted_exports(&resolve, id), ["plumbline:plugin/post-processor@0.1.0#process"]);
}

#[test]
fn a_directory_that_is_too_large_or_no_wit_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error_of = |dir: &Path| world(Some(dir), "x").unwrap_err().to_string();
    assert!(error_of(dir.path()).contains(&format!("`{}`", dir.path().display())));
    let file = fs::File::create(dir.path().join("huge.wit")).unwrap();
    file.set_len(MAX_WIT_BYTES + 1).unwrap();
    assert!(error_of(dir.path()).contains("(limit: 4194304)"));
    assert!(error_of(&dir.path().join("none")).contains("No such file"));
}
