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

# The UIDs of the clusters whose results are accepted, from the rule data `clusters`. Without it,
# those of any cluster are.
default _clusters := []

_clusters := data.rule_data__configuration__.clusters

_is_expected(statement) if {
	some resource in statement.predicate.configuration
	resource.name == "cluster"
	some uid in _clusters
	resource.uri == sprintf("urn:uuid:%s", [uid])
}

_is_rerun(statement) if {
	some resource in statement.predicate.configuration
	resource.annotations.rerun
}

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

# METADATA
# title: All tests ran
# description: No attested run may have repeated only the failed tests of another run.
# custom:
#   short_name: rerun
#   failure_msg: The run repeated only the failed tests of another run
deny contains result if {
	some statement in _results
	_is_rerun(statement)
	result := {
		"code": "test_results.rerun",
		"msg": "The run repeated only the failed tests of another run",
	}
}

# METADATA
# title: The cluster is the expected one
# description: Every attested result must be about one of the clusters in the rule data.
# custom:
#   short_name: cluster
#   failure_msg: The results are not about an expected cluster
deny contains result if {
	count(_clusters) > 0
	some statement in _results
	not _is_expected(statement)
	result := {
		"code": "test_results.cluster",
		"msg": "The results are not about an expected cluster",
	}
}
