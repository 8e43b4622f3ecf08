package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/plumblinetest"
)

const small = `{"SchemaVersion":2,"Results":[{"Target":"a","Vulnerabilities":[
	{"VulnerabilityID":"CVE-1","PkgName":"p","Severity":"HIGH"},{"VulnerabilityID":"CVE-2","PkgName":"q","Severity":"LOW"}]},{"Target":"b"}]}`

func TestEachFindingIsAnItemBelowItsTarget(t *testing.T) {
	c := plumblinetest.New().File("results/global/trivy.json", small)
	run := c.PostProcess(t, process)
	want := "trivy.json: -\n  a: -\n    CVE-1 in p: failed\n    CVE-2 in q: skipped\n  b: -\n    no findings: passed\n"
	if run.Outline() != want {
		t.Errorf("got:\n%s", run.Outline())
	}
	if got := c.Chunk(1).PostProcess(t, process).Outline(); got != want {
		t.Errorf("byte by byte:\n%s", got)
	}
}

func TestTheOptionsSayWhatFails(t *testing.T) {
	c := func() *plumblinetest.Case { return plumblinetest.New().File("trivy.json", small) }
	if run := c().Option("fail-on", []string{"low"}).PostProcess(t, process); run.Item("CVE-2 in q").Status != plumbline.Failed {
		t.Errorf("got:\n%s", run.Outline())
	}
	run := c().Option("ignore-unfixed", true).PostProcess(t, process)
	if item := run.Item("CVE-1 in p"); item.Status != plumbline.Skipped || item.Meta["reason"] != "no version has a fix" {
		t.Errorf("got:\n%s", run.Outline())
	}
	for _, option := range []struct {
		key   string
		value any
	}{{"fail-on", []string{"BAD"}}, {"fail-on", []string{}}, {"fail-over", true}} {
		if run := c().Option(option.key, option.value).PostProcess(t, process); run.Err == nil || len(run.Items) != 0 {
			t.Errorf("%s: %v was accepted", option.key, option.value)
		}
	}
}

func TestNoCutMakesAReportPass(t *testing.T) {
	for end := range small {
		run := plumblinetest.New().File("trivy.json", small[:end]).PostProcess(t, process)
		if item := run.Item("unreadable"); item == nil || item.Status != plumbline.Unknown {
			t.Errorf("cut at %d:\n%s", end, run.Outline())
		}
	}
}

// repeated is a report with the given number of findings.
func repeated(prefix, part, suffix string, count int) func() io.Reader {
	return func() io.Reader {
		parts := []io.Reader{strings.NewReader(prefix)}
		block := strings.Repeat(part, 1000)
		for range count / 1000 {
			parts = append(parts, strings.NewReader(block))
		}
		return io.MultiReader(append(parts, strings.NewReader(suffix))...)
	}
}

func TestAReportLargerThanMemoryIsRead(t *testing.T) {
	part := fmt.Sprintf(`{"VulnerabilityID":"CVE-1","PkgName":"p","Severity":"HIGH","Description":"%s"},`, strings.Repeat("d", 900))
	open := repeated(`{"SchemaVersion":2,"Results":[{"Target":"a","Vulnerabilities":[`, part, `{"VulnerabilityID":"CVE-2"}]}]}`, 100_000)
	var before, after runtime.MemStats
	count := 0
	runtime.GC()
	runtime.ReadMemStats(&before)
	out := plumbline.NewOutput(func(items []plumbline.Item) { count += len(items) })
	reader := open()
	file := plumbline.NewFile("trivy.json", 0, func(max uint32) ([]byte, error) {
		piece := make([]byte, max)
		read, err := io.ReadFull(reader, piece)
		if read > 0 || err == io.EOF {
			err = nil
		}
		return piece[:read], err
	})
	if err := process(plumbline.Plugin{}, []*plumbline.File{file}, out); err != nil {
		t.Fatal(err)
	}
	out.Flush()
	runtime.ReadMemStats(&after)
	// The file, the target, the findings.
	if count != 2+100_001 {
		t.Errorf("%d items", count)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("100 MB were read with %d MiB more of memory", grown>>20)
	}
}

func TestOneHugeValueIsRefused(t *testing.T) {
	for _, prefix := range []string{`{"SchemaVersion":2,"Metadata":"`, `{"SchemaVersion":2,"Results":[{"Target":"a","Secrets":[{"Match":"`} {
		open := repeated(prefix, strings.Repeat("x", 100), `"`, 400_000)
		run := plumblinetest.New().GeneratedFile("trivy.json", 0, open).PostProcess(t, process)
		if item := run.Item("unreadable"); item == nil || !strings.Contains(item.Meta["error"], "more than 16 MiB") {
			t.Errorf("got:\n%s", run.Outline())
		}
	}
}

func TestNestingHasAnEnd(t *testing.T) {
	open := repeated(`{"SchemaVersion":2,"Metadata":`, "[", "", 10_000_000)
	run := plumblinetest.New().GeneratedFile("trivy.json", 0, open).PostProcess(t, process)
	if item := run.Item("unreadable"); item == nil || !strings.Contains(item.Meta["error"], "levels deep") {
		t.Errorf("got:\n%s", run.Outline())
	}
}
