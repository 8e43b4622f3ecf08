//go:build wasip1 && plumbline_check_module

package plumbline

import (
	"encoding/json"
	"os"
	"time"
	"unsafe"

	// The bindings with the exports of the world.
	_ "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/check_module"
	role "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/export_plumbline_plugin_check"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_cluster"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_output"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_progress"
	contract "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_types"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// objectBytes is how much memory is lent for a batch of objects, or for one object. The host ends a
// batch at about 1 MiB.
const objectBytes = 2 << 20

func init() {
	role.Run = func(info contract.PluginInfo) witTypes.Result[witTypes.Unit, string] {
		if checker == nil {
			return outcome(errUnregistered("Checker"))
		}
		out := NewOutput(func(items []Item) { plumbline_plugin_output.Emit(lower(items)) })
		err := guest(func() error { return checker(pluginOf(info), NewContext(sandbox{granted()}), out) })
		out.Flush()
		return outcome(err)
	}
}

// sandbox is the host in a module. Go's standard library reads files through WASI.
type sandbox struct{ Directories }

func (sandbox) LookupEnv(name string) (string, bool) { return os.LookupEnv(name) }

func (sandbox) Now() time.Time { return time.Now() }

func (sandbox) Sleep(duration time.Duration) { time.Sleep(duration) }

func (sandbox) Report(progress Progress) {
	plumbline_plugin_progress.Report(uint64(progress.Completed), uint64(progress.Total), progress.Message)
}

func (sandbox) List(query ObjectQuery) (next func() ([]json.RawMessage, error), stop func(), err error) {
	lowered := plumbline_plugin_cluster.Query{
		ApiVersion: clean(query.APIVersion, 0), Resource: clean(query.Resource, 0), Namespace: namespaceOf(query),
		LabelSelector: clean(query.Labels, 0), FieldSelector: clean(query.Fields, 0),
	}
	objects, err := taken(0, func() witTypes.Result[*plumbline_plugin_cluster.Objects, string] {
		return plumbline_plugin_cluster.List(lowered)
	})
	if err != nil {
		return nil, nil, err
	}
	next = func() ([]json.RawMessage, error) {
		texts, err := taken(objectBytes, objects.Next)
		batch := make([]json.RawMessage, len(texts))
		for index, text := range texts {
			batch[index] = json.RawMessage(text)
		}
		return batch, err
	}
	return next, objects.Drop, nil
}

func (sandbox) Get(query ObjectQuery, name string) (json.RawMessage, error) {
	object, err := taken(objectBytes, func() witTypes.Result[witTypes.Option[string], string] {
		return plumbline_plugin_cluster.Get(clean(query.APIVersion, 0), clean(query.Resource, 0), namespaceOf(query), clean(name, 0))
	})
	if err != nil || object.Tag() != witTypes.OptionSome {
		return nil, err
	}
	return json.RawMessage(object.Some()), nil
}

func namespaceOf(query ObjectQuery) witTypes.Option[string] {
	if query.Namespace == "" {
		return witTypes.None[string]()
	}
	return witTypes.Some(clean(query.Namespace, 0))
}

//go:wasmimport wasi_snapshot_preview1 fd_prestat_get
//go:noescape
func prestat(fd int32, into *[2]uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_prestat_dir_name
//go:noescape
func prestatName(fd int32, into unsafe.Pointer, length uint32) uint32

// granted returns the granted directories. Go's standard library knows them as well, but it
// compares paths byte by byte: "/etc/app-2" would be in "/etc/app".
func granted() Directories {
	directories := Directories{}
	// Descriptors from 3 on are granted directories, without gaps.
	for fd := int32(3); ; fd++ {
		var about [2]uint32
		if prestat(fd, &about) != 0 {
			return directories
		}
		name := make([]byte, about[1])
		if len(name) > 0 && prestatName(fd, unsafe.Pointer(&name[0]), uint32(len(name))) == 0 {
			directories[string(name)] = string(name)
		}
	}
}
