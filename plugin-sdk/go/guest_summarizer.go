//go:build wasip1 && plumbline_summarizer_module

package plumbline

import (
	role "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/export_plumbline_plugin_summarizer"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_output"
	source "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_results"
	contract "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	// The bindings with the exports of the world.
	_ "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/summarizer_module"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

func init() {
	role.Summarize = func(info contract.PluginInfo, items *source.Items) witTypes.Result[witTypes.Unit, string] {
		if summarizer == nil {
			return outcome(errUnregistered("Summarizer"))
		}
		results := NewResults(func(max uint32) ([]Entry, error) {
			batch, err := taken(batchBytes, func() witTypes.Result[[]source.Entry, string] { return items.Next(max) })
			entries := make([]Entry, len(batch))
			for index, entry := range batch {
				entries[index] = Entry{entry.Set, lift(entry.Item)}
			}
			return entries, err
		})
		out := NewOutput(func(items []Item) { plumbline_plugin_output.Emit(lower(items)) })
		err := guest(func() error { return summarizer(pluginOf(info), results, out) })
		out.Flush()
		items.Drop()
		return outcome(err)
	}
}
