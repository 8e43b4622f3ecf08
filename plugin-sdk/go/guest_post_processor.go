//go:build wasip1 && !plumbline_expectations_module && !plumbline_summarizer_module && !plumbline_judge_module && !plumbline_check_module

package plumbline

import (
	role "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/export_plumbline_plugin_post_processor"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_input"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_output"
	contract "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	// The bindings with the exports of the world.
	_ "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/post_processor_module"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

func init() {
	role.Process = func(info contract.PluginInfo, given []*plumbline_plugin_input.File) witTypes.Result[witTypes.Unit, string] {
		if postProcessor == nil {
			return outcome(errUnregistered("PostProcessor"))
		}
		files := filesOf(given)
		out := NewOutput(func(items []Item) { plumbline_plugin_output.Emit(lower(items)) })
		err := guest(func() error { return postProcessor(pluginOf(info), files, out) })
		out.Flush()
		dropFiles(given)
		return outcome(err)
	}
}
