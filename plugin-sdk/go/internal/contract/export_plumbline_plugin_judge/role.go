//go:build wasip1

// Package export_plumbline_plugin_judge connects the generated export to the registered role.
package export_plumbline_plugin_judge

import (
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_input"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_judgement"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// Judge implements the role. The SDK sets it.
var Judge func(plumbline_plugin_types.PluginInfo, *plumbline_plugin_judgement.Tree, []*plumbline_plugin_input.File) witTypes.Result[witTypes.Unit, string]
