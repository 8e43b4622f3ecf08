// Package suite is the conformance suite of the Gateway API as one program: `go test -c`.
//
// It has the flags of the suite, and three of its own. They select several tests, take the version
// of the implementation from its Deployment, and write down which test belongs to which profile.
package suite

import (
	"flag"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

var (
	only       = flag.String("only-tests", "", "Comma-separated list of the tests to run, instead of all")
	deployment = flag.String("deployment", "", "NAMESPACE/NAME of the implementation's Deployment, whose image has the version")
	selection  = flag.String("selection-output", "", "The file where to write which tests were selected")
)

func TestConformance(t *testing.T) {
	options := conformance.DefaultOptions(t)
	selectTests(t, &options, *only)
	checkTimeouts(t)
	waitForLeftovers(t, &options)
	if *deployment != "" {
		setVersion(t, &options, *deployment)
	}
	prepareTests()
	// The worker takes the number of tests from this line.
	t.Logf("the suite has %d tests", len(tests.ConformanceTests))
	var once sync.Once
	options.Hook = func(t *testing.T, _ suite.ConformanceTest, s *suite.ConformanceTestSuite) {
		once.Do(func() {
			t.Attr("gateway-class", s.GatewayClassName)
			t.Attr("supported-features", features(s.SupportedFeatures.UnsortedList()))
			if *selection != "" {
				writeSelection(t, s, options.ConformanceProfiles, *selection)
			}
		})
	}
	conformance.RunConformanceWithOptions(t, options)
}

// selectTests skips all tests but those in the list. The suite's own report then says so. With
// `-test.run`, the report would count the other tests as passed.
func selectTests(t *testing.T, options *suite.ConformanceOptions, list string) {
	known := map[string]bool{}
	for _, test := range tests.ConformanceTests {
		known[test.ShortName] = true
	}
	for _, name := range options.SkipTests {
		if !known[name] {
			t.Fatalf("test %q to skip not found", name)
		}
	}
	if list == "" {
		return
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !known[name] {
			t.Fatalf("test %q to run not found", name)
		}
	}
	for _, test := range tests.ConformanceTests {
		if !slices.Contains(names, test.ShortName) {
			options.SkipTests = append(options.SkipTests, test.ShortName)
		}
	}
}

// prepareTests makes each test that runs report the features that it relies on. It also makes the
// tests run one after the other: the suite writes its report before it runs parallel tests, and
// counts them as passed.
func prepareTests() {
	for i := range tests.ConformanceTests {
		test := &tests.ConformanceTests[i]
		test.Parallel = false
		run, names := test.Test, features(test.Features)
		test.Test = func(t *testing.T, s *suite.ConformanceTestSuite) {
			t.Attr("features", names)
			run(t, s)
		}
	}
}

// checkTimeouts rejects timeouts that the suite would ignore.
func checkTimeouts(t *testing.T) {
	list := flag.Lookup("timeout-config-overrides").Value.String()
	known := reflect.TypeFor[config.TimeoutConfig]()
	for pair := range strings.SplitSeq(list, ";") {
		name, seconds, _ := strings.Cut(pair, ":")
		if _, err := strconv.Atoi(seconds); pair != "" && err != nil {
			t.Fatalf("invalid timeout %q: expected NAME:SECONDS", pair)
		}
		if _, found := known.FieldByName(name); pair != "" && !found {
			t.Fatalf("unknown timeout %q", name)
		}
	}
}

// features returns the names of features in one line.
func features[F ~string](all []F) string {
	names := make([]string, 0, len(all))
	for _, name := range all {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}
