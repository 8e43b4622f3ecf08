//! Tests of which files are packed, and that packing is deterministic.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use plumbline_bundle::{Bundle, BundleError, BundleWarning, Digest, EntryFault, unpack};

use crate::make::{Bed, DEFINITION, component, executable, sample, tar_of};

fn names(bundle: &Bundle) -> Vec<&str> {
    bundle.files.iter().map(|file| file.name.as_str()).collect()
}

fn refused(dir: &Path) -> (String, EntryFault) {
    match Bundle::open(dir) {
        Err(BundleError::Refused { file, why }) => (file.into(), why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bundle_holds_what_the_rule_names_and_nothing_else() {
    let bed = Bed::new();
    let dir = bed.sample("b");
    for more in [
        ".env",
        ".git/config",
        "src/main.rs",
        "Cargo.toml",
        "module.yaml",
        "node_modules/x/README.md",
        "build/sample.core.wasm",
        "other.sh",
        "tests/.hidden",
        "LICENSE",
        "options.schema.json",
        "data/rules.json",
        "data/deep/x.bin",
    ] {
        bed.write(&format!("b/{more}"), "x");
    }
    symlink("/etc/passwd", dir.join("not-selected")).unwrap();
    symlink("/", dir.join("vendor")).unwrap();
    let rule = [
        "LICENSE",
        "README.md",
        "check.sh",
        "options.schema.json",
        "plugin.yaml",
        "sample.wasm",
        "tests/one/expected.yaml",
        "tests/one/results/global/out.xml",
    ];
    assert_eq!(names(&Bundle::open(&dir).unwrap()), rule);

    bed.write("b/plugin.yaml", format!("{DEFINITION}plumbline: {{files: ['data/**/*.json', other.sh, .env]}}\n"));
    let bundle = Bundle::open(&dir).unwrap();
    let mut more: Vec<&str> = rule.into_iter().chain(["data/rules.json", "other.sh", ".env"]).collect();
    more.sort_unstable();
    assert_eq!(names(&bundle), more);
    assert_eq!(bundle.warnings, []);
    assert_eq!((bundle.modules.len(), bundle.modules[0].name.as_str()), (1, "sample"));
    assert_eq!(bundle.modules[0].digest, Digest::of(&component()));
    assert_eq!(bundle.modules[0].digest.hex(), bundle.modules[0].info.digest);
}

#[test]
fn the_same_content_has_the_same_digest_however_it_came_about() {
    let bed = Bed::new();
    let first = Bundle::open(bed.sample("one")).unwrap();
    // Another order of creation, other times, other modes.
    for (name, content) in sample().into_iter().rev() {
        let path = bed.write(&format!("two/{name}"), content);
        executable(&path, if name == "check.sh" { 0o700 } else { 0o600 });
        let old = Command::new("touch").args(["-d", "2001-02-03"]).arg(&path).status().unwrap();
        assert!(old.success());
    }
    let second = Bundle::open(bed.path("two")).unwrap();
    assert_eq!(first.digest(), second.digest());
    assert_eq!(tar_of(&first.dir), tar_of(&second.dir));
    // This digest must never change, because digests identify bundles.
    assert_eq!(first.digest().to_string(), "sha256:493138466aed6f4a51148f51282ba64df6f5de541cfadac8d486077d06c01ebb");

    executable(&bed.path("two/README.md"), 0o755);
    assert_ne!(Bundle::open(bed.path("two")).unwrap().digest(), first.digest(), "whether a file is executable counts");
}

#[test]
fn packed_and_unpacked_it_is_the_same_bundle() {
    let bed = Bed::new();
    let dir = bed.sample("b");
    let long = format!("b/tests/{}/{}/{}.xml", "a".repeat(70), "b".repeat(70), "c".repeat(70));
    bed.write(&long, vec![7; 100_000]);
    bed.write("b/tests/empty", "");
    let bundle = Bundle::open(&dir).unwrap();
    let mut tar = Vec::new();
    let packed = bundle.pack(&mut tar).unwrap();
    assert_eq!(packed.digest, Digest::of(&tar));
    assert_eq!((packed.bytes, bundle.packed_bytes()), (tar.len() as u64, tar.len() as u64));

    let into = bed.path("out/of/it");
    fs::create_dir_all(into.parent().unwrap()).unwrap();
    assert_eq!(unpack(tar.as_slice(), &into).unwrap(), packed.digest);
    let again = Bundle::open(&into).unwrap();
    assert_eq!((again.digest(), &again.files), (bundle.digest(), &bundle.files));
    assert_eq!(fs::read_dir(bed.path("out/of")).unwrap().count(), 1, "nothing is left next to it");
}

#[test]
fn other_programs_read_the_tar() {
    let bed = Bed::new();
    let dir = bed.sample("b");
    bed.write(&format!("b/tests/{}/{}", "a".repeat(99), "b".repeat(99)), "long");
    let bundle = Bundle::open(&dir).unwrap();
    let tar = tar_of(&dir);
    let mut archive = tar::Archive::new(tar.as_slice());
    let read: Vec<(String, u64, bool)> = archive
        .entries()
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            assert_eq!((entry.header().mtime().unwrap(), entry.header().uid().unwrap()), (0, 0));
            let executable = entry.header().mode().unwrap() == 0o755;
            (entry.path().unwrap().display().to_string(), entry.size(), executable)
        })
        .collect();
    let files: Vec<_> = bundle.files.iter().map(|file| (file.name.clone(), file.bytes, file.executable)).collect();
    assert_eq!(read, files);

    bed.write("b.tar", &tar);
    match Command::new("tar").arg("-tf").arg(bed.path("b.tar")).output() {
        Err(error) => eprintln!("SKIPPED: the system's `tar` cannot be asked: {error}"),
        Ok(output) => {
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
            let listed = String::from_utf8(output.stdout).unwrap();
            assert_eq!(listed.lines().collect::<Vec<_>>(), names(&bundle));
        }
    }
}

#[test]
fn links_sockets_and_pipes_are_refused_by_name() {
    let bed = Bed::new();
    let dir = bed.sample("b");
    // Also a link to a file of the bundle itself.
    symlink("sample.wasm", dir.join("alias.wasm")).unwrap();
    assert_eq!(refused(&dir), ("alias.wasm".to_owned(), EntryFault::Symlink));
    let error = Bundle::open(&dir).unwrap_err();
    assert!(error.hint().unwrap().contains("copy of its target"), "{error}");
    fs::remove_file(dir.join("alias.wasm")).unwrap();

    symlink("/etc", dir.join("tests/outside")).unwrap();
    assert_eq!(refused(&dir), ("tests/outside".to_owned(), EntryFault::Symlink));
    fs::remove_file(dir.join("tests/outside")).unwrap();

    fs::rename(dir.join("tests"), bed.path("elsewhere")).unwrap();
    symlink(bed.path("elsewhere"), dir.join("tests")).unwrap();
    assert_eq!(refused(&dir), ("tests".to_owned(), EntryFault::Symlink));
    fs::remove_file(dir.join("tests")).unwrap();

    fs::rename(dir.join("plugin.yaml"), bed.path("elsewhere/plugin.yaml")).unwrap();
    symlink(bed.path("elsewhere/plugin.yaml"), dir.join("plugin.yaml")).unwrap();
    assert_eq!(refused(&dir), ("plugin.yaml".to_owned(), EntryFault::Symlink));
    fs::rename(bed.path("elsewhere/plugin.yaml"), dir.join("plugin.yaml")).unwrap();

    let socket = UnixListener::bind(dir.join("README.sock")).unwrap();
    assert!(fs::metadata(dir.join("README.sock")).unwrap().file_type().is_socket());
    assert_eq!(refused(&dir), ("README.sock".to_owned(), EntryFault::Socket));
    drop(socket);
    fs::remove_file(dir.join("README.sock")).unwrap();

    assert!(Command::new("mkfifo").arg(dir.join("LICENSE")).status().unwrap().success());
    assert_eq!(refused(&dir), ("LICENSE".to_owned(), EntryFault::Fifo));
    fs::remove_file(dir.join("LICENSE")).unwrap();

    bed.write("b/tests/a\\b", "");
    assert_eq!(refused(&dir), ("tests/a\\b".to_owned(), EntryFault::Character));
    fs::remove_file(dir.join("tests/a\\b")).unwrap_or_else(|_| fs::remove_dir_all(dir.join("tests")).unwrap());
    assert_eq!(Bundle::open(&dir).unwrap().name(), "sample");
}

#[test]
fn an_invalid_bundle_is_rejected_with_the_reason() {
    let bed = Bed::new();
    let error_of = |dir: &Path| Bundle::open(dir).unwrap_err().to_string();
    fs::create_dir(bed.path("empty")).unwrap();
    assert!(error_of(&bed.path("empty")).contains("has no `plugin.yaml`"));
    let dir = bed.sample("b");
    bed.write("b/plugin.yaml", "spec: {}\n");
    assert!(error_of(&dir).contains("`sonobuoy-config` is missing"), "{}", error_of(&dir));
    bed.write("b/plugin.yaml", format!("{DEFINITION}plumbline: {{files: ['a[']}}\n"));
    assert!(error_of(&dir).contains("pattern `a[` is not a glob"), "{}", error_of(&dir));
    bed.write("b/plugin.yaml", DEFINITION);
    bed.write("b/core.wasm", wat::parse_str("(module)").unwrap());
    assert!(
        error_of(&dir).contains("failed to load module `core.wasm`: it is a core WebAssembly module"),
        "{}",
        error_of(&dir)
    );
    bed.write("b/core.wasm", "not wasm");
    assert!(error_of(&dir).contains("failed to load module `core.wasm`: it is not WebAssembly"), "{}", error_of(&dir));
    fs::remove_file(bed.path("b/core.wasm")).unwrap();
    let big = bed.write("b/tests/big", "");
    fs::File::options().write(true).open(big).unwrap().set_len((64 << 20) + 1).unwrap();
    assert!(error_of(&dir).contains("failed to pack `tests/big`: it has 64"), "{}", error_of(&dir));
}

#[test]
fn suspicious_content_is_reported() {
    let bed = Bed::new();
    let dir = bed.sample("b");
    let yaml = "sonobuoy-config: {driver: Process, plugin-name: sample}\nspec: {command: [./check.sh, ./rules.txt, --flag]}\nplumbline: {files: [missing, data]}\n";
    bed.write("b/plugin.yaml", yaml);
    executable(&dir.join("check.sh"), 0o644);
    bed.write("b/rules.txt", "x");
    bed.write("b/tests/one/Expected.yaml", "x");
    bed.write("b/Sam ple.wasm", component());
    bed.write("b/data/x", "x");
    let warnings = Bundle::open(&dir).unwrap().warnings;
    assert_eq!(
        warnings,
        [
            BundleWarning::Case("tests/one/Expected.yaml".to_owned(), "tests/one/expected.yaml".to_owned()),
            BundleWarning::ModuleName("Sam ple.wasm".to_owned()),
            BundleWarning::Idle("missing".to_owned()),
            BundleWarning::Idle("data".to_owned()),
            BundleWarning::NotExecutable("check.sh".to_owned()),
            BundleWarning::NotPacked("rules.txt".to_owned()),
        ]
    );
    fs::remove_file(dir.join("check.sh")).unwrap();
    assert!(Bundle::open(&dir).unwrap().warnings.contains(&BundleWarning::NoCommand("check.sh".to_owned())));
}

#[test]
fn a_file_that_changes_between_is_noticed() {
    let bed = Bed::new();
    let dir = bed.sample("b");
    let bundle = Bundle::open(&dir).unwrap();
    bed.write("b/README.md", "Another.\n");
    assert!(matches!(bundle.pack(io::sink()), Err(BundleError::Changed(_))));
}
