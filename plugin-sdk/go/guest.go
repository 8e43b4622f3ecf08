//go:build wasip1

package plumbline

import (
	"encoding/json"
	"errors"
	"math"
	"runtime/debug"
	"slices"

	contractlog "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_log"
	contract "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	wit_runtime "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/runtime"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// heapBytes makes the garbage collector work harder before the heap reaches the host's default
// limit of 256 MiB. A module can still use more if its definition allows it.
const heapBytes = 192 << 20

// slack is room for an error that is returned instead of the requested data.
const slack = 64 << 10

// argumentBytes is how much memory is lent for the arguments of the call and the paths of its
// files. Anything above is allocated.
const argumentBytes = 1 << 20

// collect turns the garbage collector on or off. It must not run while the host hands over data
// (see wit_runtime), so it runs only during the module's own code. Turning it off waits for the end
// of a cycle, so it has stopped when this returns.
func collect(on bool) {
	if on {
		debug.SetMemoryLimit(heapBytes)
		debug.SetGCPercent(100)
	} else {
		debug.SetMemoryLimit(math.MaxInt64)
		debug.SetGCPercent(-1)
	}
}

// The host hands over the arguments of the call first.
func init() {
	collect(false)
	wit_runtime.Lend(argumentBytes)
}

// guest calls the registered function of the role.
func guest(role func() error) error {
	collect(true)
	defer collect(false)
	return guarded(role)
}

func write(level Level, message string) { contractlog.Write(uint8(level), message) }

func pluginOf(info contract.PluginInfo) Plugin {
	return Plugin{info.Name, info.Driver, info.Format, int(info.ExpectedResults), json.RawMessage(info.Options)}
}

// outcome converts an error for the host.
func outcome(err error) witTypes.Result[witTypes.Unit, string] {
	if err != nil {
		return witTypes.Err[witTypes.Unit](clean(err.Error(), 0))
	}
	return witTypes.Ok[witTypes.Unit, string](witTypes.Unit{})
}

// called calls the host during the module's own code and returns the outcome, which usually has at
// most so many bytes.
func called[T any](bytes uintptr, call func() T) T {
	wit_runtime.Lend(bytes + slack)
	collect(false)
	defer collect(true)
	outcome := call()
	// From here on, Go owns the memory.
	wit_runtime.Unpin()
	return outcome
}

// taken is called for functions of the host that return a text as their error.
func taken[T any](bytes uintptr, call func() witTypes.Result[T, string]) (outcome T, err error) {
	result := called(bytes, call)
	if result.Tag() == witTypes.ResultErr {
		return outcome, errors.New(result.Err())
	}
	return result.Ok(), nil
}

// lower converts a batch for the host. Keys are sorted, so that the same items give the same bytes.
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
