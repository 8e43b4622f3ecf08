package suite

import (
	"encoding/json"
	"os"
	"testing"

	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

// profiles are the conformance profiles of the suite, which has no list of them.
var profiles = []suite.ConformanceProfile{
	suite.GatewayHTTPConformanceProfile,
	suite.GatewayTLSConformanceProfile,
	suite.GatewayTCPConformanceProfile,
	suite.GatewayUDPConformanceProfile,
	suite.GatewayGRPCConformanceProfile,
	suite.MeshHTTPConformanceProfile,
	suite.MeshGRPCConformanceProfile,
}

// selected is what was selected, for a comparison of the report with the results of tests.
type selected struct {
	// Profiles are the selected conformance profiles.
	Profiles []suite.ConformanceProfileName `json:"profiles"`
	// MaxTimeToConsistency is a timeout, in seconds, for which the suite has a maximum.
	MaxTimeToConsistency float64 `json:"maxTimeToConsistency"`
	// SkipProvisional is whether provisional tests are not counted.
	SkipProvisional bool `json:"skipProvisional"`
	// Tests are all tests of the suite, by name.
	Tests map[string]membership `json:"tests"`
}

// membership says where a test is counted.
type membership struct {
	// Levels are the level of the test, `core` or `extended`, in each selected profile it belongs to.
	Levels map[suite.ConformanceProfileName]string `json:"levels"`
	// Supported is whether the implementation has all features that the test relies on.
	Supported bool `json:"supported"`
	// Provisional is whether the test is on trial.
	Provisional bool `json:"provisional,omitempty"`
}

// writeSelection writes what was selected.
func writeSelection(t *testing.T, s *suite.ConformanceTestSuite, names []suite.ConformanceProfileName, file string) {
	all := selected{
		Profiles:             names,
		MaxTimeToConsistency: s.TimeoutConfig.MaxTimeToConsistency.Seconds(),
		SkipProvisional:      s.SkipProvisionalTests,
		Tests:                map[string]membership{},
	}
	for _, test := range tests.ConformanceTests {
		levels := map[suite.ConformanceProfileName]string{}
		for _, name := range names {
			for _, profile := range profiles {
				if level := level(profile, test); profile.Name == name && level != "" {
					levels[name] = level
				}
			}
		}
		supported := s.SupportedFeatures.HasAll(test.Features...)
		all.Tests[test.ShortName] = membership{levels, supported, test.Provisional}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// level returns the level of a test in a profile: `core` if all its features are, `extended` if the
// profile has them, and otherwise nothing.
func level(profile suite.ConformanceProfile, test suite.ConformanceTest) string {
	level := "core"
	for _, feature := range test.Features {
		switch {
		case profile.CoreFeatures.Has(feature):
		case profile.ExtendedFeatures.Has(feature):
			level = "extended"
		default:
			return ""
		}
	}
	return level
}
