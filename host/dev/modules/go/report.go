package main

import (
	"encoding/xml"
	"fmt"
	"strings"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

const (
	// maxDepth is the number of levels of suites: the host accepts 64 levels in total.
	maxDepth = 48
	// maxText is the bytes of one text.
	maxText = 1 << 20
)

// parts are the elements of a test case whose text is kept; those with true have a message too.
var parts = map[string]bool{
	"skipped": true, "failure": true, "error": true, "rerunFailure": true, "rerunError": true, "flakyFailure": true, "flakyError": true,
	"system-out": false, "system-err": false,
}

type suite struct {
	name          string
	emitted       bool
	suites, cases int
}

// report converts a file to items.
type report struct {
	out    *plumbline.Output
	open   []string
	suites []suite
	// roots counts top-level suites.
	roots  int
	tested bool

	inCase          bool
	caseDepth       int
	name            string
	skipped, failed bool
	details         plumbline.Details

	part              string
	partDepth         int
	message           string
	hasMessage, noted bool
	gathered          strings.Builder
}

func attribute(element xml.StartElement, name string) (string, bool) {
	for _, attribute := range element.Attr {
		if attribute.Name.Local == name {
			return attribute.Value, true
		}
	}
	return "", false
}

func (r *report) start(element xml.StartElement) error {
	name := element.Name.Local
	r.open = append(r.open, name)
	depth := len(r.open)
	if depth == 1 && name != "testsuites" && name != "testsuite" {
		return fmt.Errorf("root element `%s` is not `testsuites` or `testsuite`", name)
	}
	switch {
	case r.part != "":
	case r.inCase:
		hasMessage, known := parts[name]
		if !known || depth != r.caseDepth+1 {
			return nil
		}
		r.part, r.partDepth, r.hasMessage = name, depth, hasMessage
		r.message, r.noted = "", false
		if hasMessage {
			r.message, r.noted = attribute(element, "message")
		}
		r.gathered.Reset()
		r.skipped = r.skipped || name == "skipped"
		r.failed = r.failed || name == "failure" || name == "error"
	case name == "testsuite":
		r.openSuite(element)
	case name == "testcase":
		r.inCase, r.caseDepth, r.skipped, r.failed, r.details = true, depth, false, false, nil
		if r.name, _ = attribute(element, "name"); r.name == "" {
			r.name, _ = attribute(element, "classname")
		}
	}
	return nil
}

func (r *report) text(text []byte) {
	if r.part != "" {
		r.gathered.Write(text[:min(len(text), maxText-min(r.gathered.Len(), maxText))])
	}
}

func (r *report) end(name string) error {
	depth := len(r.open)
	if depth == 0 || r.open[depth-1] != name {
		return fmt.Errorf("`%s` is closed where it is not open", name)
	}
	r.open = r.open[:depth-1]
	switch {
	case r.part != "":
		if depth == r.partDepth {
			r.closePart()
		}
	case r.inCase:
		if depth == r.caseDepth {
			r.closeCase()
		}
	case name == "testsuite":
		// An empty suite counts as one passed test.
		if last := len(r.suites) - 1; !r.suites[last].emitted {
			r.release(plumbline.Passed)
		}
		r.suites = r.suites[:len(r.suites)-1]
	}
	return nil
}

func (r *report) openSuite(element xml.StartElement) {
	count := &r.roots
	if len(r.suites) > 0 {
		count = &r.suites[len(r.suites)-1].suites
	}
	*count++
	name, _ := attribute(element, "name")
	if name == "" {
		name = fmt.Sprintf("testsuite-%03d", *count)
	}
	r.suites = append(r.suites, suite{name: name})
}

// release emits the open suites: when they get a child, or when the last of them ends with the status.
func (r *report) release(status plumbline.Status) {
	for index := range r.suites {
		if open := &r.suites[index]; !open.emitted {
			open.emitted = true
			item := plumbline.Item{Depth: min(index+1, maxDepth), Name: open.name}
			if index == len(r.suites)-1 {
				item.Status = status
			}
			r.out.Emit(item)
		}
	}
}

func (r *report) closePart() {
	name, text := r.part, r.gathered.String()
	r.part = ""
	if r.hasMessage {
		text = strings.TrimSpace(r.message + " " + text)
	}
	if text == "" && !r.noted {
		return
	}
	if name == "skipped" && (text == "" || strings.EqualFold(text, "skipped")) {
		return
	}
	if r.details == nil {
		r.details = plumbline.Details{}
	}
	if before, some := r.details[name].(string); some && before != "" {
		text = before + "\n" + text
	}
	r.details[name] = text
}

func (r *report) closeCase() {
	r.inCase, r.tested = false, true
	number := 1
	if len(r.suites) > 0 {
		last := &r.suites[len(r.suites)-1]
		if !last.emitted {
			r.release("")
		}
		last.cases++
		number = last.cases
	}
	if r.name == "" {
		r.name = fmt.Sprintf("testcase-%03d", number)
	}
	status := plumbline.Passed
	if r.failed {
		status = plumbline.Failed
	}
	if r.skipped {
		status = plumbline.Skipped
	}
	r.out.Emit(plumbline.Item{Depth: min(len(r.suites), maxDepth) + 1, Name: r.name, Status: status, Details: r.details})
}

func (r *report) breakOff(name string, err error) {
	r.release("")
	r.out.Emit(plumbline.Item{Depth: 1, Name: name, Status: plumbline.Unknown, Meta: plumbline.Meta{"error": err.Error()}})
}
