//go:build wasip1

// Package export_plumbline_plugin_post_processor connects the generated export to the registered
// role.
package export_plumbline_plugin_post_processor

import (
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_input"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// Process implements the role. The SDK sets it.
var Process func(plumbline_plugin_types.PluginInfo, []*plumbline_plugin_input.File) witTypes.Result[witTypes.Unit, string]
