package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/mattfenwick/cyclonus/pkg/connectivity"
	networkingv1 "k8s.io/api/networking/v1"
)

// maxWrong is the number of wrong connections that a step lists.
const maxWrong = 40

// item is a line of the report.
type item struct {
	Depth   int               `json:"depth"`
	Name    string            `json:"name"`
	Status  string            `json:"status"`
	Meta    map[string]string `json:"meta,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}

// report writes items as tests end, so that those of a suite that crashes are there.
type report struct {
	lock sync.Mutex
	file *os.File
}

func newReport(path string) (*report, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("failed to create the file for items: %w", err)
	}
	return &report{file: file}, nil
}

// write ends the program if the report cannot be written: a test that is not in it must not be
// missed.
func (r *report) write(item item) {
	r.lock.Lock()
	defer r.lock.Unlock()
	line, err := json.Marshal(item)
	if err == nil && r.file == nil {
		err = os.ErrClosed
	}
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "network-policy: failed to write the report: %v\n", err)
		os.Exit(exitError)
	}
}

// seal closes the report. Tests that run wait from now on when they end.
func (r *report) seal() {
	r.close()
	r.lock.Lock()
}

func (r *report) close() {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.file == nil {
		return
	}
	if err := r.file.Close(); err != nil {
		fmt.Fprintf(os.Stderr, "network-policy: failed to write the report: %v\n", err)
		os.Exit(exitError)
	}
	r.file = nil
}

// total prints what the definition of the plugin counts as progress.
func (r *report) total(count int) { fmt.Printf("%d tests\n", count) }

// broken reports something without which tests did not run.
func (r *report) broken(what string, err error) {
	fmt.Fprintf(os.Stderr, "network-policy: %s: %v\n", what, err)
	r.write(item{Name: what, Status: "unknown", Meta: map[string]string{"error": err.Error()}})
}

func (r *report) skipped(test *test, reason string) {
	r.write(item{Name: test.name, Status: "skipped", Meta: tags(test), Details: map[string]string{"skipped": reason}})
	fmt.Printf("skipped: %s: %s\n", test.name, reason)
}

// ran reports a test that ran, and returns whether it passed.
func (r *report) ran(test *test, o *outcome) bool {
	item := item{Name: test.name, Meta: tags(test), Details: map[string]string{}}
	item.Meta["duration"] = fmt.Sprintf("%.3f", o.duration.Seconds())
	item.Meta["connections"] = fmt.Sprint(o.compared)
	switch {
	case o.err != nil:
		item.Status = "failed"
		item.Details["failure"] = fmt.Sprintf("the test could not be carried out: %v", o.err)
	case o.compared == 0:
		item.Status = "unknown"
		item.Meta["error"] = "no connection was tried"
	case o.wrong > 0:
		item.Status = "failed"
		item.Meta["wrong"] = fmt.Sprint(o.wrong)
		item.Details["failure"] = strings.Join(o.texts, "\n")
		if len(o.policies) > 0 {
			item.Details["policies"] = yaml(o.policies)
		}
	default:
		item.Status = "passed"
	}
	r.write(item)
	if item.Status == "passed" {
		fmt.Printf("passed: %s (%d connections)\n", test.name, o.compared)
		return true
	}
	fmt.Printf("failed: %s\n%s%s\n", test.name, item.Meta["error"], item.Details["failure"])
	for i, step := range o.steps {
		fmt.Printf("step %d\npolicies:\n%sexpected:\n%s\nfound:\n%s\n", i+1, yaml(step.KubePolicies),
			step.SimulatedProbe.RenderTable(), step.LastKubeProbe().RenderTable())
	}
	return false
}

func tags(test *test) map[string]string {
	meta := map[string]string{}
	if keys := test.Tags.Keys(); len(keys) > 0 {
		meta["tags"] = strings.Join(keys, ",")
	}
	return meta
}

// describe lists the wrong connections of a step. The first line has one of them, because summaries
// show only that line.
func describe(step, steps, compared int, wrong []connection) string {
	var text strings.Builder
	if steps > 1 {
		fmt.Fprintf(&text, "step %d of %d: ", step, steps)
	}
	fmt.Fprintf(&text, "%d of %d connections are wrong, such as %s", len(wrong), compared, wrong[0])
	for i, c := range wrong {
		if i == maxWrong {
			fmt.Fprintf(&text, "\n  and %d more", len(wrong)-maxWrong)
			break
		}
		fmt.Fprintf(&text, "\n  %s", c)
	}
	return text.String()
}

func yaml(policies []*networkingv1.NetworkPolicy) string {
	documents := make([]string, 0, len(policies))
	for _, policy := range policies {
		documents = append(documents, connectivity.PrintNetworkPolicy(policy))
	}
	return strings.Join(documents, "---\n")
}
