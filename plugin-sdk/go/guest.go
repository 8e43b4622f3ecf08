//go:build wasip1

package plumbline

import (
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"

	contractlog "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_log"
	contract "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	wit_runtime "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/runtime"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// heapBytes makes the collector work harder before the heap meets the host's default limit of 256 MiB; what a module really holds may be
// more, where its definition allows more.
const heapBytes = 192 << 20

func init() { debug.SetMemoryLimit(heapBytes) }

func write(level Level, message string) { contractlog.Write(uint8(level), message) }

func pluginOf(info contract.PluginInfo) Plugin {
	return Plugin{info.Name, info.Driver, info.Format, int(info.ExpectedResults), json.RawMessage(info.Options)}
}

// outcome is an error as the host wants it.
func outcome(err error) witTypes.Result[witTypes.Unit, string] {
	if err != nil {
		return witTypes.Err[witTypes.Unit](clean(err.Error(), 0))
	}
	return witTypes.Ok[witTypes.Unit, string](witTypes.Unit{})
}

// taken is what a call of the host gave. The memory is Go's from here on.
func taken[T any](result witTypes.Result[[]T, string]) ([]T, error) {
	wit_runtime.Unpin()
	if result.Tag() == witTypes.ResultErr {
		return nil, errors.New(result.Err())
	}
	return result.Ok(), nil
}

// lower is a batch as the host wants it. Keys are sorted: the same items give the same bytes.
func lower(items []Item) []contract.Item {
	lowered := make([]contract.Item, len(items))
	for index, item := range items {
		lowered[index] = contract.Item{Depth: uint32(item.Depth), Name: item.Name, Status: lowerStatus(item.Status)}
		for _, key := range sortedKeys(item.Meta) {
			fact := witTypes.Tuple2[string, string]{F0: clean(key, 0), F1: clean(item.Meta[key], 0)}
			lowered[index].Meta = append(lowered[index].Meta, fact)
		}
		for _, key := range sortedKeys(item.Details) {
			detail := witTypes.Tuple2[string, contract.Detail]{F0: clean(key, 0), F1: lowerDetail(item.Details[key])}
			lowered[index].Details = append(lowered[index].Details, detail)
		}
	}
	return lowered
}

func sortedKeys[V any](of map[string]V) []string {
	if len(of) == 0 {
		return nil
	}
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func lowerDetail(value any) contract.Detail {
	text, isJSON := EncodedDetail(value)
	if isJSON {
		return contract.MakeDetailJson(text)
	}
	return contract.MakeDetailText(text)
}

func lowerStatus(status Status) witTypes.Option[contract.Status] {
	switch status {
	case "":
		return witTypes.None[contract.Status]()
	case Passed:
		return witTypes.Some(contract.MakeStatusPassed())
	case Failed:
		return witTypes.Some(contract.MakeStatusFailed())
	case Skipped:
		return witTypes.Some(contract.MakeStatusSkipped())
	case Timeout:
		return witTypes.Some(contract.MakeStatusTimeout())
	case Unknown:
		return witTypes.Some(contract.MakeStatusUnknown())
	default:
		return witTypes.Some(contract.MakeStatusCustom(string(status)))
	}
}
