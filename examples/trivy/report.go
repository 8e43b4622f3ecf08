package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// schemaVersion is the version of the reports that Trivy has written since 0.20.
const schemaVersion = 2

// reader reads one report.
type reader struct {
	*stream
	policy policy
	out    *plumbline.Output
	// report is true if Trivy wrote it: it has a schema version, or the name of a cluster.
	report  bool
	results int
}

// readReports reads the reports of a file, which nearly always has one.
func readReports(file *plumbline.File, policy policy, out *plumbline.Output) error {
	source := newStream(file)
	for count := 0; ; count++ {
		if count > 0 && !source.More() {
			return rest(source)
		}
		r := &reader{stream: source, policy: policy, out: out}
		if err := r.object(r.member); err != nil {
			return err
		}
		if !r.report {
			return errors.New("not a report of Trivy: create one with `trivy … --format json`")
		}
		if r.results == 0 {
			// Trivy omits the results if it found nothing to scan.
			out.Emit(plumbline.Item{
				Depth: 1, Name: "no results", Status: plumbline.Unknown,
				Meta: plumbline.Meta{"error": "the report has no results: nothing was scanned"},
			})
		}
	}
}

// rest returns what is wrong after the last report.
func rest(source *stream) error {
	_, err := source.Token()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// member reads a value of the report itself.
func (r *reader) member(key string) error {
	switch key {
	case "SchemaVersion":
		var version int
		if err := r.value(&version); err != nil {
			return err
		}
		r.report = true
		// `trivy k8s` writes 0.
		if version != schemaVersion && version != 0 {
			text := fmt.Sprintf("unsupported schema version %d, read as version %d", version, schemaVersion)
			r.out.Emit(plumbline.Item{
				Depth: 1, Name: "schema version", Status: plumbline.Unknown, Meta: plumbline.Meta{"error": text},
			})
		}
		return nil
	case "ClusterName":
		r.report = true
		return r.pass()
	case "Results":
		return r.array(func() error { return r.result(1) })
	// `trivy k8s --report all`, `--report summary`, and both kinds of lists of older ones.
	case "Resources", "Findings", "Vulnerabilities", "Misconfigurations":
		return r.array(r.resource)
	default:
		return r.pass()
	}
}

// resource reads what was found in an object of a cluster.
func (r *reader) resource() error {
	var namespace, kind, name, wrong string
	emitted := false
	before := r.results
	// Emitted with the first item below it; in every report of Trivy, the name comes before that.
	begin := func() {
		if !emitted {
			r.out.Emit(plumbline.Item{Depth: 1, Name: resourceName(namespace, kind, name)})
			emitted = true
			r.results++
		}
	}
	err := r.object(func(key string) error {
		switch key {
		case "Namespace":
			return r.value(&namespace)
		case "Kind":
			return r.value(&kind)
		case "Name":
			return r.value(&name)
		case "Error":
			return r.value(&wrong)
		case "Results":
			return r.array(func() error {
				begin()
				return r.result(2)
			})
		default:
			return r.pass()
		}
	})
	empty := r.results == before
	begin()
	if wrong != "" {
		r.out.Emit(plumbline.Item{Depth: 2, Name: "not scanned", Status: plumbline.Unknown, Meta: plumbline.Meta{"error": cut(wrong)}})
	} else if empty && err == nil {
		r.out.Emit(plumbline.Item{Depth: 2, Name: "no findings", Status: plumbline.Passed})
	}
	return err
}

func resourceName(namespace, kind, name string) string {
	full := cut(strings.Trim(strings.Join([]string{namespace, kind, name}, "/"), "/"))
	if full == "" {
		return "resource"
	}
	return full
}

// result reads the findings of a target: a package database, a lock file, a manifest.
func (r *reader) result(depth int) error {
	r.results++
	var target, class, kind string
	begun, found := false, 0
	begin := func() {
		if !begun {
			r.out.Emit(targetItem(depth, target, class, kind))
			begun = true
		}
	}
	each := func(blank func() finding) error {
		return r.array(func() error {
			next := blank()
			if err := r.value(next); err != nil {
				return err
			}
			begin()
			found++
			emit(next, depth+1, r.policy, r.out)
			return nil
		})
	}
	err := r.object(func(key string) error {
		switch key {
		case "Target":
			return r.value(&target)
		case "Class":
			return r.value(&class)
		case "Type":
			return r.value(&kind)
		case "Vulnerabilities":
			return each(func() finding { return new(vulnerability) })
		case "Misconfigurations":
			return each(func() finding { return new(misconfiguration) })
		case "Secrets":
			return each(func() finding { return new(secret) })
		case "Licenses":
			return each(func() finding { return new(license) })
		default:
			return r.pass()
		}
	})
	begin()
	if found == 0 && err == nil {
		r.out.Emit(plumbline.Item{Depth: depth + 1, Name: "no findings", Status: plumbline.Passed})
	}
	return err
}

func targetItem(depth int, target, class, kind string) plumbline.Item {
	item := plumbline.Item{Depth: depth, Name: cut(target), Meta: plumbline.Meta{}}
	if item.Name == "" {
		item.Name = "target"
	}
	if class != "" {
		item.Meta["class"] = cut(class)
	}
	if kind != "" {
		item.Meta["ecosystem"] = cut(kind)
	}
	return item
}
