# Accepts an archive only if its attestation says that the run passed, and that it was not a rerun of
# failed tests. For `cosign verify-attestation --policy`.
package signature

import rego.v1

default allow := false

allow if {
	input.predicateType == "https://in-toto.io/attestation/test-result/v0.1"
	input.predicate.result == "PASSED"
	not is_rerun
}

# The run repeated only the failed tests of another run.
is_rerun if {
	some resource in input.predicate.configuration
	resource.annotations.rerun
}
