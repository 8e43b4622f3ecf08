//! Definitions and what they provide to processes: commands, images, environment, files, nodes,
//! progress.

use std::collections::BTreeMap;

use plumbline_author::Language;
use plumbline_author::build::missing_tool;
use serde_json::Value;

use crate::bed::{Bed, wait_for};
use crate::check_languages;

const DONE: &str = "printf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done";

#[test]
fn a_definition_for_a_cluster_runs_here_if_its_command_does() {
    let bed = Bed::new();
    bed.plugin("job", "driver: Job", &format!("echo $SONOBUOY $RESULT_TYPE > $SONOBUOY_RESULTS_DIR/out\n{DONE}"));
    bed.run(&["job"], &[]).expect(0);
    assert_eq!(bed.member("plugins/job/results/global/out"), "true job\n");
}

#[test]
fn a_definition_with_nothing_but_an_image_says_why_it_does_not_run_here() {
    let bed = Bed::new();
    bed.write(
        "imaged.yaml",
        "sonobuoy-config: {driver: Job, plugin-name: imaged}\nspec: {name: plugin, image: 'registry.example/checks:v1'}\n",
    );
    let done = bed.run(&["imaged"], &["--wait-output", "silent", "--level", "error"]).expect(3);
    insta::assert_snapshot!(done.shown(&bed));
    let tree = bed.tree("imaged");
    assert_eq!(tree["status"], "failed");
    assert!(tree["items"][0]["details"]["error"].as_str().unwrap().contains("registry.example/checks:v1"), "{tree}");
}

#[test]
fn a_plugin_per_node_runs_on_this_node_under_its_name() {
    let bed = Bed::new();
    bed.plugin("sweep", "driver: DaemonSet", &format!("echo $NODE_NAME > $SONOBUOY_RESULTS_DIR/out\n{DONE}"));
    bed.run(&["sweep"], &[]).expect(0);
    let tree = bed.tree("sweep");
    let node = tree["items"][0]["name"].as_str().unwrap();
    assert_ne!(node, "global");
    assert_eq!(tree["items"][0]["meta"]["type"], "node");
    assert_eq!(bed.member(&format!("plugins/sweep/results/{node}/out")).trim(), node);
}

#[test]
fn files_and_variables_of_the_definition_are_there() {
    let bed = Bed::new();
    bed.write(
        "full.yaml",
        r#"
sonobuoy-config: {driver: Process, plugin-name: full}
config-map:
  settings.txt: "some settings"
spec:
  name: plugin
  command: [sh, -euc]
  args:
  - |
    cat $SONOBUOY_CONFIG_DIR/settings.txt > $SONOBUOY_RESULTS_DIR/out
    echo " $COLOUR ${FROM_CLUSTER-unset} $SONOBUOY_RESULTS_DIR" | sed "s,$RESULTS_DIR,same," >> $SONOBUOY_RESULTS_DIR/out
    printf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done
  env:
  - {name: COLOUR, value: blue}
  - {name: SONOBUOY_RESULTS_DIR, value: /nowhere}
  - name: FROM_CLUSTER
    valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
"#,
    );
    let done = bed.run(&["full"], &[]).expect(0);
    assert!(done.err.contains("variable `FROM_CLUSTER` is not set"), "{}", done.err);
    assert_eq!(bed.member("plugins/full/results/global/out"), "some settings blue unset same\n");
}

#[test]
fn progress_is_shown_while_it_goes() {
    let bed = Bed::new();
    let mut gate = bed.gate("gate");
    let body = r#"{"msg":"half way","total":4,"completed":1,"failures":["b"]}"#;
    let post = format!(
        "until (exec 3<>/dev/tcp/127.0.0.1/$SONOBUOY_PROGRESS_PORT) 2>/dev/null; do sleep 0.05; done; \
         exec 3<>/dev/tcp/127.0.0.1/$SONOBUOY_PROGRESS_PORT; \
         printf 'POST /progress HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: {}\\r\\nConnection: close\\r\\n\\r\\n%s' '{body}' >&3; cat <&3",
        body.len()
    );
    bed.write("post.sh", &post);
    bed.plugin(
        "talkative",
        "",
        &format!(
            "bash {0}/post.sh\nread _ < {0}/gate\necho hi > $SONOBUOY_RESULTS_DIR/out\n{DONE}",
            bed.root().display()
        ),
    );
    let run = bed.start("run", &["run", "--local", "--dir", "out", "-p", "talkative.yaml"]);
    let line = "talkative: 2/4   1 passed or skipped   1 failed   half way";
    wait_for(line, || run.err().contains(line));
    wait_for("the same in the status", || bed.plumbline(&["status", "--local"]).expect(0).out.contains("half way"));
    gate.open();
    run.wait().expect(0);
}

#[test]
fn a_directory_brings_its_program_and_its_modules() {
    let bed = Bed::new();
    bed.write(
        "bundle/plugin.yaml",
        "sonobuoy-config: {driver: Process, plugin-name: bundled}\nspec: {name: plugin, command: [./check.sh]}\n",
    );
    let script = bed.write(
        "bundle/check.sh",
        "#!/bin/sh\npwd > $SONOBUOY_RESULTS_DIR/out\necho $PLUMBLINE_PLUGIN_DIR >> $SONOBUOY_RESULTS_DIR/out\nprintf %s $SONOBUOY_RESULTS_DIR/out > $SONOBUOY_RESULTS_DIR/done\n",
    );
    std::fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    bed.plumbline(&["run", "--local", "--dir", "out", "-p", "bundle"]).expect(0);
    let here = bed.root().canonicalize().unwrap();
    let dir = here.join("bundle");
    assert_eq!(
        bed.member("plugins/bundled/results/global/out"),
        format!("{}\n{}\n", here.display(), dir.display()),
        "it starts where the user is and knows where its files are"
    );
}

/// The definition is in a directory of its own, and the user is in another one.
#[test]
fn plugins_start_where_the_user_is_or_in_their_working_directory() {
    let bed = Bed::new();
    let pwd = "pwd > $SONOBUOY_RESULTS_DIR/out";
    bed.plugin("conf/here", "", pwd);
    let yaml = std::fs::read_to_string(bed.path("conf/here.yaml")).unwrap().replace("conf/here", "here");
    bed.write("conf/here.yaml", &yaml);
    bed.write("conf/there.yaml", &(yaml.replace("plugin-name: here", "plugin-name: there") + "  workingDir: data\n"));
    bed.write("conf/data/file", "");
    bed.write("project/file", "");
    let mut command =
        bed.command(&["run", "--local", "--dir", "../out", "-p", "../conf/here.yaml", "-p", "../conf/there.yaml"]);
    command.current_dir(bed.path("project"));
    crate::bed::Done::of(command).expect(0);
    let root = bed.root().canonicalize().unwrap();
    for (plugin, directory) in [("here", "project"), ("there", "conf/data")] {
        let member = bed.member(&format!("plugins/{plugin}/results/global/out"));
        assert_eq!(member.trim_end(), root.join(directory).to_str().unwrap(), "{plugin}");
    }
}

#[test]
fn a_continued_run_starts_its_plugins_where_it_was_started() {
    let bed = Bed::new();
    let root = bed.root().display();
    bed.plugin(
        "where",
        "",
        &format!(
            "if ! test -e {root}/again; then echo $$ > {root}/pid; sleep 600; fi\npwd > $SONOBUOY_RESULTS_DIR/out"
        ),
    );
    let run = bed.start("run", &["run", "--local", "--dir", "out", "-p", "where.yaml"]);
    wait_for("the plugin", || bed.path("pid").exists());
    run.signal("KILL");
    run.wait();
    bed.write("again", "");
    let work = crate::bed::entries(&bed.path("out")).pop().unwrap();
    let mut command = bed.command(&["run", "--local", "--continue", work.to_str().unwrap()]);
    command.current_dir("/");
    crate::bed::Done::of(command).expect(0);
    let here = bed.root().canonicalize().unwrap();
    assert_eq!(bed.member("plugins/where/results/global/out").trim_end(), here.to_str().unwrap());
}

#[test]
fn the_facts_of_this_machine_are_facts() {
    let bed = Bed::new();
    bed.plumbline(&["run", "--local", "--dir", "out", "-p", "host-facts"]).expect(0);
    let facts: Value = serde_json::from_str(&bed.member("plugins/host-facts/results/global/host-facts.json")).unwrap();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(facts.to_string().contains(release.trim()), "{facts}");
}

#[test]
fn the_example_has_a_verdict_for_every_check_on_any_machine() {
    let bed = Bed::new();
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/node-check");
    let done = bed.plumbline(&["run", "--local", "--dir", "out", "-p", bundle]);
    // Whether the checks pass depends on this machine. The example must have a verdict on each of
    // them.
    assert!([0, 1].contains(&done.code), "{}", done.err);
    let tree = bed.tree("node-check");
    let suite = &tree["items"][0]["items"][0];
    let checks = suite["items"].as_array().unwrap();
    assert_eq!(checks.len(), 19, "{suite}");
    for check in checks {
        let (status, details) = (check["status"].as_str().unwrap(), &check["details"]);
        match status {
            "passed" => assert!(details.is_null(), "{check}"),
            "failed" => assert!(details["failure"].is_string(), "{check}"),
            "skipped" => assert!(details["skipped"].is_string(), "{check}"),
            other => panic!("{other}: {check}"),
        }
    }
    let (failed, any) = (checks.iter().filter(|check| check["status"] == "failed").count(), done.code == 1);
    assert_eq!(failed > 0, any, "the exit code is the verdict");
}

/// Returns the statuses of the leaves of a tree by name.
fn statuses(item: &Value, found: &mut BTreeMap<String, String>) {
    match item["items"].as_array() {
        Some(items) => items.iter().for_each(|item| statuses(item, found)),
        None => {
            let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
            found.insert(text("name"), text("status"));
        }
    }
}

#[test]
fn the_script_and_the_component_agree_about_this_machine() {
    let bed = Bed::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let [script, component] = ["node-check", "node-ready"].map(|name| format!("{examples}/{name}"));
    if let Some(missing) = missing_tool(Language::Rust, component.as_ref()) {
        eprintln!("SKIPPED: the example node-ready: {missing}");
        return;
    }
    check_languages::plumbline(&bed, &["plugin", "build", &component]).expect(0);
    bed.plumbline(&["run", "--local", "--dir", "out", "-p", &script, "-p", &component]);
    let [script, component] = ["node-check", "node-ready"].map(|plugin| {
        let mut found = BTreeMap::new();
        statuses(&bed.tree(plugin), &mut found);
        found
    });
    assert_eq!(component.len(), 15, "{component:?}");
    // Sockets change while the plugins run.
    let lasts = |rule: &&String| !rule.starts_with("port ") && *rule != "a container runtime listens";
    let is_known = |status: &str| ["passed", "failed"].contains(&status);
    let mut compared = 0;
    for rule in component.keys().filter(lasts) {
        // Either may lack what it needs on this machine.
        let (by_script, here) = (&script[rule], &component[rule]);
        if is_known(by_script) && is_known(here) {
            assert_eq!(by_script, here, "{rule}");
            compared += 1;
        }
    }
    assert!(compared > 3, "{script:?} {component:?}");
}
