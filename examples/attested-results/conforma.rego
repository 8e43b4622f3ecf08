#
# METADATA
# title: Test results
# description: >-
#   Checks the attestation that `plumbline results attest` has made about the archive of a run.
#
package test_results

import rego.v1

_predicate_type := "https://in-toto.io/attestation/test-result/v0.1"

_results := [attestation.statement |
	some attestation in input.attestations
	attestation.statement.predicateType == _predicate_type
]

# METADATA
# title: There is a result
# description: An attestation of the result of tests must be attached.
# custom:
#   short_name: attested
#   failure_msg: No attestation of type %s
deny contains result if {
	count(_results) == 0
	result := {
		"code": "test_results.attested",
		"msg": sprintf("No attestation of type %s", [_predicate_type]),
	}
}

# METADATA
# title: The run passed
# description: Every attested result must be PASSED. Excused failures (WARNED) are not accepted.
# custom:
#   short_name: passed
#   failure_msg: The result is %s
deny contains result if {
	some statement in _results
	statement.predicate.result != "PASSED"
	result := {
		"code": "test_results.passed",
		"msg": sprintf("The result is %s", [statement.predicate.result]),
	}
}
