package main

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/mattfenwick/cyclonus/pkg/connectivity"
	"github.com/mattfenwick/cyclonus/pkg/connectivity/probe"
	"github.com/mattfenwick/cyclonus/pkg/generator"
	"github.com/mattfenwick/cyclonus/pkg/matcher"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// executor runs test cases.
type executor struct {
	options   *Options
	cluster   *cluster
	resources *probe.Resources
	prober    *prober
	jobs      *probe.JobBuilder
}

// execute creates the pods, runs the control and the selected tests, and returns the exit code.
func execute(options *Options, cluster *cluster, chosen selection, report *report) int {
	protocols := make([]v1.Protocol, 0, len(options.protocols))
	for _, protocol := range options.protocols {
		protocols = append(protocols, v1.Protocol(protocol))
	}
	started := time.Now()
	resources, err := probe.NewDefaultResources(cluster, namespaces, pods, options.ports, protocols, nil,
		int(options.podTimeout/time.Second), false, "registry.k8s.io")
	if err != nil {
		report.broken("pods of the suite", fmt.Errorf("failed to start them: %w%s", err, cluster.waiting()))
		return exitError
	}
	fmt.Printf("pods are ready after %.0f s:\n%s\n", time.Since(started).Seconds(), resources.RenderTable())
	e := &executor{
		options:   options,
		cluster:   cluster,
		resources: resources,
		prober:    &prober{cluster: cluster, timeout: options.timeout, loopback: options.loopback},
		jobs:      &probe.JobBuilder{TimeoutSeconds: int(options.timeout / time.Second)},
	}
	target, err := resources.GetPod("z", "c")
	if err != nil {
		report.broken("pods of the suite", err)
		return exitError
	}
	report.total(len(chosen) + 1)

	if first := control(); !report.ran(first, e.run(first)) {
		report.broken("tests of policies", errors.New("they did not run: without a policy, some connections do not work, so that nothing can be concluded from blocked ones"))
		return exitError
	}
	failed := false
	for _, test := range generate(options, target.IP) {
		if !chosen[test.name] {
			continue
		}
		if port := test.unserved(options); port != "" {
			report.skipped(test, "it connects to "+port+", which is not among the ports and protocols of this run")
			continue
		}
		passed := report.ran(test, e.run(test))
		failed = failed || !passed
		if failed && options.failFast {
			report.broken("further tests", errors.New("they did not run: the suite stops after the first failed test"))
			break
		}
	}
	if failed {
		return exitFailed
	}
	return 0
}

// outcome is what happened in a test.
type outcome struct {
	// The steps that ran, and the error of the one that did not.
	steps    []*connectivity.StepResult
	err      error
	duration time.Duration
	// The connections that were tried and compared, and those of them that were wrong.
	compared, wrong int
	// A text for each step with a wrong connection, and one for probes that did not run.
	texts []string
	// The policies of the first step with a wrong connection.
	policies []*networkingv1.NetworkPolicy
}

// run runs a test case and compares its connections with the expected ones.
func (e *executor) run(test *test) *outcome {
	fmt.Printf("\n=== %s\n", test.name)
	e.prober.problems()
	started := time.Now()
	o := &outcome{}
	o.steps, o.err = e.steps(test)
	o.duration = time.Since(started)
	for i, step := range o.steps {
		compared, wrong := compare(step, e.options.loopback)
		o.compared += compared
		o.wrong += len(wrong)
		if len(wrong) > 0 {
			o.texts = append(o.texts, describe(i+1, len(test.Steps), compared, wrong))
			if o.policies == nil {
				o.policies = step.KubePolicies
			}
		}
	}
	if problems := e.prober.problems(); len(problems) > 0 {
		o.texts = append(o.texts, "probes that did not run, such as:\n  "+strings.Join(problems, "\n  "))
	}
	return o
}

// steps runs the steps of a test case. It stops at the first one whose actions fail.
func (e *executor) steps(test *test) ([]*connectivity.StepResult, error) {
	state := &connectivity.TestCaseState{Kubernetes: e.cluster, Resources: e.resources}
	if err := state.ResetClusterState(); err != nil {
		return nil, fmt.Errorf("failed to reset the cluster: %w", err)
	}
	if err := state.VerifyClusterState(); err != nil {
		return nil, fmt.Errorf("the cluster has another state than expected: %w", err)
	}
	var results []*connectivity.StepResult
	for i, step := range test.Steps {
		for _, action := range step.Actions {
			if err := act(state, action); err != nil {
				return results, fmt.Errorf("step %d: %w", i+1, err)
			}
		}
		time.Sleep(e.options.wait)
		results = append(results, e.probe(state, step.Probe))
	}
	return results, nil
}

// probe tries the connections of a step, and those that are wrong again.
func (e *executor) probe(state *connectivity.TestCaseState, step *generator.ProbeConfig) *connectivity.StepResult {
	config := *step
	config.Mode = generator.ProbeMode(e.options.target)
	policy := matcher.BuildNetworkPolicies(true, state.Policies)
	expected := probe.NewSimulatedRunner(policy, e.jobs).RunProbeForConfig(&config, state.Resources)
	policies := append([]*networkingv1.NetworkPolicy{}, state.Policies...)
	result := connectivity.NewStepResult(expected, policy, policies)
	runner := &probe.Runner{JobRunner: e.prober, JobBuilder: e.jobs}
	e.prober.right = nil
	for try := 0; try <= e.options.retries; try++ {
		result.AddKubeProbe(runner.RunProbeForConfig(&config, state.Resources))
		if _, wrong := compare(result, e.options.loopback); len(wrong) == 0 {
			break
		}
		e.prober.right = right(result.LastComparison())
	}
	return result
}

// right returns the connections with the expected outcome, by key.
func right(table *connectivity.ComparisonTable) map[string]probe.Connectivity {
	right := map[string]probe.Connectivity{}
	for _, key := range table.Wrapped.Keys() {
		item := table.Get(key.From, key.To)
		for port, result := range item.Kube.JobResults {
			if expected := item.Simulated.JobResults[port]; expected != nil && expected.Combined == result.Combined {
				right[result.Job.Key()] = result.Combined
			}
		}
	}
	return right
}

// act changes the cluster, and what is expected of it.
func act(state *connectivity.TestCaseState, action *generator.Action) error {
	switch {
	case action.CreatePolicy != nil:
		return state.CreatePolicy(action.CreatePolicy.Policy)
	case action.UpdatePolicy != nil:
		return state.UpdatePolicy(action.UpdatePolicy.Policy)
	case action.DeletePolicy != nil:
		return state.DeletePolicy(action.DeletePolicy.Namespace, action.DeletePolicy.Name)
	case action.CreateNamespace != nil:
		return state.CreateNamespace(action.CreateNamespace.Namespace, action.CreateNamespace.Labels)
	case action.SetNamespaceLabels != nil:
		return state.SetNamespaceLabels(action.SetNamespaceLabels.Namespace, action.SetNamespaceLabels.Labels)
	case action.DeleteNamespace != nil:
		return state.DeleteNamespace(action.DeleteNamespace.Namespace)
	case action.ReadNetworkPolicies != nil:
		return state.ReadPolicies(action.ReadNetworkPolicies.Namespaces)
	case action.CreatePod != nil:
		return state.CreatePod(action.CreatePod.Namespace, action.CreatePod.Pod, action.CreatePod.Labels)
	case action.SetPodLabels != nil:
		return state.SetPodLabels(action.SetPodLabels.Namespace, action.SetPodLabels.Pod, action.SetPodLabels.Labels)
	case action.DeletePod != nil:
		return state.DeletePod(action.DeletePod.Namespace, action.DeletePod.Pod)
	}
	return errors.New("this test case has an action that the suite does not know")
}

// connection is a connection with an outcome that is not the expected one.
type connection struct{ from, to, port, expected, actual string }

func (c connection) String() string {
	return fmt.Sprintf("%s -> %s %s: expected %s, got %s", c.from, c.to, c.port, c.expected, c.actual)
}

// compare returns the number of connections of the last try, and those that were wrong.
func compare(step *connectivity.StepResult, loopback bool) (int, []connection) {
	var wrong []connection
	compared := 0
	table := step.LastComparison()
	for _, key := range table.Wrapped.Keys() {
		if key.From == key.To && !loopback {
			continue
		}
		item := table.Get(key.From, key.To)
		ports := make([]string, 0, len(item.Simulated.JobResults))
		for port := range item.Simulated.JobResults {
			ports = append(ports, port)
		}
		sort.Strings(ports)
		for _, port := range ports {
			expected, actual := item.Simulated.JobResults[port].Combined, probe.ConnectivityUnknown
			if result := item.Kube.JobResults[port]; result != nil {
				actual = result.Combined
			}
			if expected == probe.ConnectivityAllowed || expected == probe.ConnectivityBlocked {
				compared++
			}
			if expected != actual {
				wrong = append(wrong, connection{key.From, key.To, port, string(expected), word(actual)})
			}
		}
	}
	return compared, wrong
}

func word(actual probe.Connectivity) string {
	if actual == probe.ConnectivityCheckFailed || actual == probe.ConnectivityUnknown {
		return "not probed"
	}
	return string(actual)
}
