// A post-processor for the JSON reports of Trivy (schema version 2, and those of `trivy k8s`): each finding is an item
// below its target.
package main

import (
	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

func init() { plumbline.PostProcessor(process) }

// main is never called: a module is a function of its arguments.
func main() {}

func process(plugin plumbline.Plugin, files []*plumbline.File, out *plumbline.Output) error {
	policy, err := readPolicy(plugin)
	if err != nil {
		return err
	}
	for _, file := range files {
		out.Emit(plumbline.Item{Name: file.Name(), Meta: plumbline.Meta{"file": file.Path(), "type": "file"}})
		if err := readReports(file, policy, out); err != nil {
			// The items that were read so far stay; the rest is unknown.
			out.Emit(plumbline.Item{
				Depth: 1, Name: "unreadable", Status: plumbline.Unknown, Meta: plumbline.Meta{"error": err.Error()},
			})
		}
	}
	return nil
}
