package main

import (
	"strconv"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

func init() { plumbline.Judge(judge) }

func main() {}

func judge(plugin plumbline.Plugin, tree *plumbline.Tree, evidence []*plumbline.File, out *plumbline.Rulings) error {
	var options struct {
		AtMost int `json:"at-most"`
	}
	if err := plugin.Options(&options); err != nil {
		return err
	}
	list := map[string]string{}
	for _, file := range evidence {
		for line, err := range file.Lines() {
			if err != nil {
				return err
			}
			list[line] = file.Path()
		}
	}
	excused := 0
	for judged, err := range tree.All() {
		if err != nil {
			return err
		}
		if source, ok := list[judged.Item.Name]; ok && judged.IsFailure() && judged.Ruling == nil {
			out.Rule(judged.Index, plumbline.Ruling{Class: "quarantined", Reason: judged.Set, Source: source})
			excused++
		}
	}
	outcome := plumbline.Passed
	if excused > options.AtMost {
		outcome = plumbline.Failed
	}
	out.Report(plumbline.Check{ID: "QUARANTINE-001", Name: "few are excused", Outcome: outcome, Got: strconv.Itoa(excused)})
	return nil
}
