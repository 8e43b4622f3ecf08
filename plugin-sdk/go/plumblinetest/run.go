package plumblinetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// Run is the outcome of a module for a case.
type Run struct {
	// Items contains the emitted items in order.
	Items []plumbline.Item
	// Err is the error that the module's function returned.
	Err error
	// Log contains the lines of the log, as "level: message".
	Log []string
	// Progress contains the reports of a check in order.
	Progress []plumbline.Progress
}

// PostProcess runs a post-processor. If an item breaks a rule, where the host would end the call,
// the test fails.
func (c *Case) PostProcess(t testing.TB, role plumbline.PostProcessorFunc) Run {
	t.Helper()
	files := make([]*plumbline.File, len(c.files))
	for index, file := range c.files {
		files[index] = c.file(file)
	}
	return c.gather(t, func(out *plumbline.Output) error { return role(c.info(t), files, out) })
}

// Summarize runs a summarizer. If an item breaks a rule, where the host would end the call, the
// test fails.
func (c *Case) Summarize(t testing.TB, role plumbline.SummarizerFunc) Run {
	t.Helper()
	return c.gather(t, func(out *plumbline.Output) error { return role(c.info(t), c.results(), out) })
}

func (c *Case) gather(t testing.TB, call func(*plumbline.Output) error) Run {
	t.Helper()
	var run Run
	stop := plumbline.CollectLog(func(level plumbline.Level, line string) {
		run.Log = append(run.Log, fmt.Sprintf("%s: %s", level, line))
	})
	defer stop()
	out := plumbline.NewOutput(func(items []plumbline.Item) { run.Items = append(run.Items, items...) })
	run.Err = plumbline.Guarded(func() error { return call(out) })
	out.Flush()
	previous := -1
	for _, item := range run.Items {
		if problem := broken(item, previous); problem != "" {
			t.Fatalf("the host would end the call: %s", problem)
		}
		previous = item.Depth
	}
	return run
}

// broken returns the rule (wit/types.wit) that the item breaks after an item of depth previous, or
// an empty string.
func broken(item plumbline.Item, previous int) string {
	if item.Depth < 0 || item.Depth > previous+1 {
		return fmt.Sprintf("item `%s` has depth %d, but at most %d can follow here", item.Name, item.Depth, previous+1)
	}
	if item.Name == "" {
		return fmt.Sprintf("an item at depth %d has an empty name", item.Depth)
	}
	for key, value := range item.Details {
		if text, isJSON := plumbline.EncodedDetail(value); isJSON && !json.Valid([]byte(text)) {
			return fmt.Sprintf("detail `%s` of item `%s` is not JSON", key, item.Name)
		}
	}
	return ""
}

// Outline returns a line "name: status" for each item, indented by two spaces per level, with "-"
// if the host rolls the status up. It is short enough to compare in a test.
func (r Run) Outline() string {
	var lines strings.Builder
	for _, item := range r.Items {
		status := item.Status
		if status == "" {
			status = "-"
		}
		fmt.Fprintf(&lines, "%s%s: %s\n", strings.Repeat("  ", item.Depth), item.Name, status)
	}
	return lines.String()
}

// Item returns the first item with that name, or nil.
func (r Run) Item(name string) *plumbline.Item {
	for index := range r.Items {
		if r.Items[index].Name == name {
			return &r.Items[index]
		}
	}
	return nil
}

// Count returns how many items have the status.
func (r Run) Count(status plumbline.Status) int {
	count := 0
	for _, item := range r.Items {
		if item.Status == status {
			count++
		}
	}
	return count
}
