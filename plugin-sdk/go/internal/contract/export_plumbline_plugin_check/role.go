//go:build wasip1

// Package export_plumbline_plugin_check connects the generated export to the registered role.
package export_plumbline_plugin_check

import (
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// Run implements the role. The SDK sets it.
var Run func(plumbline_plugin_types.PluginInfo) witTypes.Result[witTypes.Unit, string]
