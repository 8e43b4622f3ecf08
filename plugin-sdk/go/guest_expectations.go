//go:build wasip1 && plumbline_expectations_module

package plumbline

import (
	"encoding/json"

	// The bindings with the exports of the world.
	_ "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/expectations_module"
	role "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/export_plumbline_plugin_expectations"
	nodes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_expectations"
	contract "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

func init() {
	role.ExpectedResults = func(info contract.PluginInfo, podSpec witTypes.Option[string], given []nodes.Node) witTypes.Result[[]nodes.ExpectedResult, string] {
		var expected []Expected
		err := errUnregistered("Expectations")
		if expectations != nil {
			var spec json.RawMessage
			if podSpec.Tag() == witTypes.OptionSome {
				spec = json.RawMessage(podSpec.Some())
			}
			err = guest(func() (err error) {
				expected, err = expectations(pluginOf(info), spec, nodesOf(given))
				return err
			})
		}
		if err != nil {
			return witTypes.Err[[]nodes.ExpectedResult](clean(err.Error(), 0))
		}
		results := make([]nodes.ExpectedResult, len(expected))
		for index, result := range expected {
			results[index] = nodes.MakeExpectedResultGlobal()
			if result != Global {
				results[index] = nodes.MakeExpectedResultNode(clean(result.Node, 0))
			}
		}
		return witTypes.Ok[[]nodes.ExpectedResult, string](results)
	}
}

func nodesOf(given []nodes.Node) []Node {
	all := make([]Node, len(given))
	for index, node := range given {
		all[index] = Node{
			Name: node.Name, Labels: make(map[string]string, len(node.Labels)), Ready: node.Ready,
			Unschedulable: node.Unschedulable, OS: node.Os, Arch: node.Arch,
		}
		for _, label := range node.Labels {
			all[index].Labels[label.F0] = label.F1
		}
		for _, taint := range node.Taints {
			all[index].Taints = append(all[index].Taints, Taint{taint.Key, taint.Value, taint.Effect})
		}
	}
	return all
}
