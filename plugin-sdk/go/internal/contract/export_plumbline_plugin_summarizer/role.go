//go:build wasip1

// Package export_plumbline_plugin_summarizer connects the generated export to the registered role.
package export_plumbline_plugin_summarizer

import (
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_results"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// Summarize implements the role. The SDK sets it.
var Summarize func(plumbline_plugin_types.PluginInfo, *plumbline_plugin_results.Items) witTypes.Result[witTypes.Unit, string]
