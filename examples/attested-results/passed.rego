# Accepts an archive only if its attestation says that the run passed. For
# `cosign verify-attestation --policy`.
package signature

import rego.v1

default allow := false

allow if {
	input.predicateType == "https://in-toto.io/attestation/test-result/v0.1"
	input.predicate.result == "PASSED"
}
