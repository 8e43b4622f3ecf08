//go:build wasip1 && plumbline_judge_module

package plumbline

import (
	role "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/export_plumbline_plugin_judge"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_input"
	source "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_judgement"
	contract "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	// The bindings with the exports of the world.
	_ "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/judge_module"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

func init() {
	role.Judge = func(info contract.PluginInfo, given *source.Tree, evidence []*plumbline_plugin_input.File) witTypes.Result[witTypes.Unit, string] {
		if judge == nil {
			return outcome(errUnregistered("Judge"))
		}
		tree := NewTree(func(max uint32) ([]JudgedItem, error) {
			batch, err := taken(batchBytes, func() witTypes.Result[[]source.JudgedItem, string] { return given.Next(max) })
			items := make([]JudgedItem, len(batch))
			for index, judged := range batch {
				items[index] = JudgedItem{judged.Index, judged.Set, lift(judged.Item), judged.Leaf, liftRuling(judged.Ruling)}
			}
			return items, err
		})
		files := filesOf(evidence)
		out := NewRulings(rule, report)
		err := guest(func() error { return judge(pluginOf(info), tree, files, out) })
		out.Flush()
		given.Drop()
		dropFiles(evidence)
		return outcome(err)
	}
}

func liftRuling(given witTypes.Option[source.Ruling]) *Ruling {
	if given.Tag() != witTypes.OptionSome {
		return nil
	}
	ruling := given.Some()
	return &Ruling{ruling.Class, ruling.Counts, ruling.Reason, ruling.Source}
}

func rule(rulings []RuledItem) {
	lowered := make([]witTypes.Tuple2[uint64, source.Ruling], len(rulings))
	for index, ruled := range rulings {
		ruling := source.Ruling{Class: ruled.Ruling.Class, Counts: ruled.Ruling.Counts, Reason: ruled.Ruling.Reason, Source: ruled.Ruling.Source}
		lowered[index] = witTypes.Tuple2[uint64, source.Ruling]{F0: ruled.Index, F1: ruling}
	}
	source.Rule(lowered)
}

func report(checks []Check) {
	lowered := make([]source.Check, len(checks))
	for index, check := range checks {
		result := source.Outcome(source.OutcomeUnknown)
		switch check.Outcome {
		case Passed:
			result = source.OutcomePassed
		case Failed:
			result = source.OutcomeFailed
		}
		lowered[index] = source.Check{Id: check.ID, Name: check.Name, Outcome: result, Want: check.Want, Got: check.Got, Reason: check.Reason}
	}
	source.Report(lowered)
}
