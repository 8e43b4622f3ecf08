package plumbline_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/plumblinetest"
)

// lines emits each line of each file.
func lines(_ plumbline.Plugin, files []*plumbline.File, out *plumbline.Output) error {
	for _, file := range files {
		for line, err := range file.LinesUpTo(8) {
			if err != nil {
				out.Emit(plumbline.Item{Name: "broken", Meta: plumbline.Meta{"error": err.Error()}})
				continue
			}
			out.Emit(plumbline.Item{Name: "[" + line + "]"})
		}
	}
	return nil
}

func TestLinesAreBoundedAndDoNotDependOnTheHost(t *testing.T) {
	c := plumblinetest.New().File("a", "one\r\n\nlonger than eight\nlast")
	want := "[one]: -\n[]: -\n[longer t]: -\n[last]: -\n"
	if got := c.PostProcess(t, lines).Outline(); got != want {
		t.Errorf("got %s", got)
	}
	if got := c.Chunk(1).PostProcess(t, lines).Outline(); got != want {
		t.Errorf("byte by byte: %s", got)
	}
}

func TestAFileThatBreaksGivesWhatItHadAndTheCause(t *testing.T) {
	run := plumblinetest.New().BrokenFile("a", "one\nha", "the disk is gone").PostProcess(t, lines)
	if run.Outline() != "[one]: -\nbroken: -\n" || run.Item("broken").Meta["error"] != "the disk is gone" {
		t.Errorf("got %s", run.Outline())
	}
}

func TestAFileIsAReader(t *testing.T) {
	text := strings.Repeat("0123456789", 100_000)
	plumblinetest.New().File("dir/a.txt", text).PostProcess(t, func(_ plumbline.Plugin, files []*plumbline.File, _ *plumbline.Output) error {
		all, err := io.ReadAll(files[0])
		if err != nil || string(all) != text {
			t.Errorf("read %d bytes: %v", len(all), err)
		}
		if files[0].Name() != "a.txt" || files[0].Size() != 1_000_000 {
			t.Errorf("%s has %d bytes", files[0].Name(), files[0].Size())
		}
		return nil
	})
}

func TestItemsGoOutInBatchesAndLargeOnesDoNotWait(t *testing.T) {
	var batches []int
	out := plumbline.NewOutput(func(items []plumbline.Item) { batches = append(batches, len(items)) })
	for range 600 {
		out.Emit(plumbline.Item{Name: "x"})
	}
	large := plumbline.Item{Name: "x", Details: plumbline.Details{"output": strings.Repeat("o", plumbline.BatchBytes)}}
	out.Emit(large)
	out.Flush()
	out.Flush()
	if len(batches) != 3 || batches[0] != plumbline.BatchItems || batches[2] != 600-2*plumbline.BatchItems+1 {
		t.Errorf("got %v", batches)
	}
}

func TestAMisspeltOptionIsNamed(t *testing.T) {
	var options struct {
		Strict bool `json:"strict"`
	}
	plugin := plumbline.Plugin{RawOptions: json.RawMessage(`{"strict":true}`)}
	if err := plugin.Options(&options); err != nil || !options.Strict {
		t.Errorf("got %v, %v", options, err)
	}
	plugin.RawOptions = json.RawMessage(`{"strikt":true}`)
	if err := plugin.Options(&options); err == nil || !strings.Contains(err.Error(), "strikt") {
		t.Errorf("got %v", err)
	}
	if err := (plumbline.Plugin{}).Options(&options); err != nil {
		t.Errorf("a definition without options: %v", err)
	}
}

func TestAPanicIsAnErrorWithATraceInTheLog(t *testing.T) {
	run := plumblinetest.New().PostProcess(t, func(_ plumbline.Plugin, files []*plumbline.File, out *plumbline.Output) error {
		out.Emit(plumbline.Item{Name: "before"})
		_ = files[3]
		return nil
	})
	if run.Err == nil || !strings.Contains(run.Err.Error(), "index out of range") || run.Outline() != "before: -\n" {
		t.Errorf("got %v and %s", run.Err, run.Outline())
	}
	if len(run.Log) != 1 || !strings.Contains(run.Log[0], "sdk_test.go") {
		t.Errorf("the log: %v", run.Log)
	}
}

func TestWhatTheHostWouldRefuseIsRepaired(t *testing.T) {
	run := plumblinetest.New().PostProcess(t, func(_ plumbline.Plugin, _ []*plumbline.File, out *plumbline.Output) error {
		out.Emit(plumbline.Item{Name: "caf\xe9", Status: plumbline.Status(strings.Repeat("ü", 200))})
		out.Emit(plumbline.Item{Name: strings.Repeat("ü", plumbline.MaxName)})
		return nil
	})
	if run.Items[0].Name != "caf\uFFFD" || len(run.Items[0].Status) != plumbline.MaxCustomStatus {
		t.Errorf("got %v", run.Items[0])
	}
	if name := run.Items[1].Name; len(name) != plumbline.MaxName || !utf8.ValidString(name) {
		t.Errorf("a name of %d bytes", len(name))
	}
	if text, isJSON := plumbline.EncodedDetail(func() {}); isJSON || !strings.Contains(text, "cannot be shown") {
		t.Errorf("got %q", text)
	}
}

func TestExpectationsAreCheckedAsTheHostDoes(t *testing.T) {
	c := plumblinetest.New().Node(plumbline.Node{Name: "a", Ready: true}).Node(plumbline.Node{Name: "b"})
	ready := func(_ plumbline.Plugin, _ json.RawMessage, nodes []plumbline.Node) (expected []plumbline.Expected, err error) {
		for _, node := range nodes {
			if node.Ready {
				expected = append(expected, plumbline.Expected{Node: node.Name})
			}
		}
		return expected, nil
	}
	if expected, err := c.Expect(t, ready); err != nil || len(expected) != 1 || expected[0].Node != "a" {
		t.Errorf("got %v, %v", expected, err)
	}
	for _, wrong := range [][]plumbline.Expected{{{Node: "c"}}, {plumbline.Global, plumbline.Global}} {
		answer := func(plumbline.Plugin, json.RawMessage, []plumbline.Node) ([]plumbline.Expected, error) {
			return wrong, nil
		}
		if _, err := c.Expect(t, answer); err == nil {
			t.Errorf("%v was accepted", wrong)
		}
	}
}

func TestResultsAreReadToTheirEndOrTheirError(t *testing.T) {
	count := func(_ plumbline.Plugin, results *plumbline.Results, out *plumbline.Output) error {
		for entry, err := range results.All() {
			if err != nil {
				return errors.New("no more: " + err.Error())
			}
			out.Emit(plumbline.Item{Name: entry.Set + "/" + entry.Item.Name, Status: entry.Item.Status})
		}
		return nil
	}
	disk := plumbline.Item{Name: "disk", Status: plumbline.Failed}
	c := plumblinetest.New().Results("n1", disk, disk).Results("n2", disk, disk)
	run := c.Summarize(t, count)
	if run.Count(plumbline.Failed) != 4 || run.Item("n2/disk") == nil || run.Err != nil {
		t.Errorf("got %s, %v", run.Outline(), run.Err)
	}
	if run := c.BrokenResults("the spool is gone").Summarize(t, count); run.Err == nil || len(run.Items) != 4 {
		t.Errorf("got %s, %v", run.Outline(), run.Err)
	}
}
