//go:build wasip1

// Package export_plumbline_plugin_expectations connects the generated export to the registered
// role.
package export_plumbline_plugin_expectations

import (
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_expectations"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// ExpectedResults implements the role. The SDK sets it.
var ExpectedResults func(plumbline_plugin_types.PluginInfo, witTypes.Option[string], []plumbline_plugin_expectations.Node) witTypes.Result[[]plumbline_plugin_expectations.ExpectedResult, string]
