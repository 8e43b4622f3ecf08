//! A test of pods whose resources change while they run.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::bed::Bed;
use crate::plugin::Plugin;
use crate::versions::RESIZE;

#[test]
fn an_aggregator_with_more_memory_resumes() {
    let Some(bed) = Bed::new("resize") else { return };
    if !RESIZE.is_on(&bed, "resize") {
        return;
    }
    bed.run(&[Plugin::job("slow").args(&["--after=25s"])], &[]).expect(0);
    let pod = bed.wait_for_pod("sonobuoy", |pod| {
        let status = pod.metadata.annotations.as_ref().and_then(|all| all.get("sonobuoy.hept.io/status"));
        status.is_some_and(|status| status.contains("\"running\",\"result"))
    });
    let name = pod.spec.unwrap().containers.remove(0).name;
    let more = json!({"spec": {"containers": [{"name": name, "resources": {"limits": {"memory": "1536Mi"}}}]}});
    let (pods, parameters, patch) = (bed.api::<Pod>(), PatchParams::default(), Patch::Strategic(more));
    bed.ask(pods.patch_subresource("resize", "sonobuoy", &parameters, &patch));
    let resized = bed.wait_for_pod("sonobuoy", |pod| {
        let container = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first().cloned());
        let limits = container.and_then(|container| container.resources?.limits);
        limits.is_some_and(|limits| limits.get("memory").is_some_and(|memory| memory.0 == "1536Mi"))
    });
    bed.command("wait", &["--timeout", "5m"]).expect(0);
    let restarts = resized.status.and_then(|status| Some(status.container_statuses?.first()?.restart_count));
    assert_eq!(restarts, Some(0));
}
