# Accepts an archive only if its attestation says that the run passed on one cluster, and that it was
# not a rerun of failed tests. For `cosign verify-attestation --policy`.
package signature

import rego.v1

# Change this to the UID of your cluster's namespace `kube-system`:
# kubectl get namespace kube-system -o jsonpath='{.metadata.uid}'
cluster := "00000000-0000-4000-8000-000000000000"

default allow := false

allow if {
	input.predicateType == "https://in-toto.io/attestation/test-result/v0.1"
	input.predicate.result == "PASSED"
	not is_rerun
	some resource in input.predicate.configuration
	resource.name == "cluster"
	resource.uri == sprintf("urn:uuid:%s", [cluster])
}

# The run repeated only the failed tests of another run.
is_rerun if {
	some resource in input.predicate.configuration
	resource.annotations.rerun
}
