package main

import (
	"fmt"
	"strings"

	"github.com/mattfenwick/cyclonus/pkg/generator"
)

// The namespaces and pods that the test cases of Cyclonus refer to. `y-2` is created by one of them.
var (
	namespaces = []string{"x", "y", "z"}
	pods       = []string{"a", "b", "c"}
	transient  = []string{"y-2"}
)

// controlName is the name of the test before all others: without a policy, all connections work.
const controlName = "no policy: all connections are allowed"

// test is a test case with a unique name.
type test struct {
	name string
	*generator.TestCase
}

// generate returns all test cases. Those with IP blocks depend on the address of the pod z/c.
func generate(options *Options, address string) []*test {
	all := generator.NewTestCaseGenerator(options.allowDNS, address, namespaces, nil, nil).GenerateAllTestCases()
	descriptions := map[string]int{}
	for _, testCase := range all {
		descriptions[testCase.Description]++
	}
	tests, names := make([]*test, 0, len(all)), map[string]int{}
	for _, testCase := range all {
		// Some descriptions occur for both directions, and lists of tags for several ports. The order
		// is fixed.
		name := testCase.Description
		if direction := direction(testCase); descriptions[name] > 1 && !strings.Contains(name, direction) {
			name = direction + ": " + name
		}
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, names[name])
		}
		tests = append(tests, &test{name, testCase})
	}
	return tests
}

// direction returns the direction that a test case is about, or "".
func direction(testCase *generator.TestCase) string {
	ingress, egress := testCase.Tags[generator.TagIngress], testCase.Tags[generator.TagEgress]
	switch {
	case ingress && !egress:
		return "ingress"
	case egress && !ingress:
		return "egress"
	}
	return ""
}

// control returns the test that runs first.
func control() *test {
	step := generator.NewTestStep(generator.NewAllAvailable(generator.ProbeModeServiceName))
	return &test{controlName, generator.NewTestCase(controlName, generator.StringSet{}, step)}
}

// allTests returns the control and all test cases, for their names.
func allTests(options *Options) []*test {
	return append([]*test{control()}, generate(options, "192.0.2.1")...)
}

// selection are the names of the chosen tests.
type selection map[string]bool

// selectTests returns the names of the chosen tests, without the control. It is an error if there
// are none and the focus is not on the control, or if a tag or a name does not exist.
func selectTests(options *Options) (selection, error) {
	if err := generator.ValidateTags(append(append([]string{}, options.include...), options.exclude...)); err != nil {
		return nil, fmt.Errorf("%v; the tags are: %s", err, strings.Join(generator.TagSlice, ", "))
	}
	chosen, known := selection{}, map[string]bool{}
	for _, test := range generate(options, "192.0.2.1") {
		known[test.name] = true
		named := len(options.names) == 0 || oneOf(test.name, options.names...)
		tagged := len(options.include) == 0 || test.Tags.ContainsAny(options.include)
		matched := options.focus == nil || options.focus.MatchString(test.name)
		skipped := options.skip != nil && options.skip.MatchString(test.name)
		if named && tagged && matched && !skipped && !test.Tags.ContainsAny(options.exclude) {
			chosen[test.name] = true
		}
	}
	for _, name := range options.names {
		if !known[name] {
			return nil, fmt.Errorf("no test has the name %q; `network-policy --list` prints all names", name)
		}
	}
	// The control always runs, and may be the only test that failed before.
	if len(chosen) == 0 && (options.focus == nil || !options.focus.MatchString(controlName)) {
		return nil, fmt.Errorf("no test matches the names, expressions, included tags and excluded tags")
	}
	return chosen, nil
}

// unserved returns the port that a test connects to and no pod serves, or "".
func (t *test) unserved(options *Options) string {
	served := map[string]bool{}
	for _, port := range options.ports {
		for _, protocol := range options.protocols {
			served[fmt.Sprintf("%s %d", protocol, port)] = true
			served[fmt.Sprintf("%s serve-%d-%s", protocol, port, strings.ToLower(protocol))] = true
		}
	}
	for _, step := range t.Steps {
		probe := step.Probe.PortProtocol
		if probe == nil {
			continue
		}
		if port := fmt.Sprintf("%s %s", probe.Protocol, probe.Port.String()); !served[port] {
			return port
		}
	}
	return ""
}
