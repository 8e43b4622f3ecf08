package plumblinetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// granted is what a check may read in a case.
type granted struct {
	directories plumbline.Directories
	files       fstest.MapFS
	env         map[string]string
	// now is the time of the node. Zero is that of this machine.
	now time.Time
	// objects are lists by API version and resource.
	objects map[[2]string]recorded
	// attributes are owners and modes by path.
	attributes map[string]plumbline.Attributes
	// responses are those of web servers by method and URL.
	responses map[[2]string]result[plumbline.Response]
	// names are addresses by name.
	names       map[string]result[[]string]
	connections map[plumbline.Target]plumbline.Connection
}

// recorded is a list, with the error after its objects, if any.
type recorded struct {
	objects []any
	fails   string
}

// NodeDirectory grants a directory of the node to a check. Its files are those below disk, such as
// "testdata/etc/kubernetes".
func (c *Case) NodeDirectory(path, disk string) *Case {
	c.granted.directories[path] = disk
	return c
}

// NodeFile adds a file of the node for a check, without a directory.
func (c *Case) NodeFile(path, content string) *Case {
	c.granted.files[strings.TrimPrefix(path, "/")] = &fstest.MapFile{Data: []byte(content)}
	return c
}

// Env sets an environment variable that a check sees.
func (c *Case) Env(name, value string) *Case {
	c.granted.env[name] = value
	return c
}

// Now sets the clock of the node. It advances when the check sleeps.
func (c *Case) Now(now time.Time) *Case {
	c.granted.now = now
	return c
}

// Objects grants a resource of the cluster to a check, and adds objects to it: any values that
// encode to JSON. The check gets those whose metadata.namespace is the namespace of its query.
// Selectors select everything: add only the objects that they would select.
func (c *Case) Objects(apiVersion, resource string, objects ...any) *Case {
	key := [2]string{apiVersion, resource}
	list := c.granted.objects[key]
	list.objects = append(list.objects, objects...)
	c.granted.objects[key] = list
	return c
}

// BrokenObjects makes reading a resource fail with the error after its objects.
func (c *Case) BrokenObjects(apiVersion, resource, fails string) *Case {
	key := [2]string{apiVersion, resource}
	list := c.granted.objects[key]
	list.fails = fails
	c.granted.objects[key] = list
	return c
}

// Check runs a check. If an item breaks a rule, where the host would end the call, the test fails.
func (c *Case) Check(t testing.TB, role plumbline.CheckerFunc) Run {
	t.Helper()
	host := &fake{granted: c.granted}
	run := c.gather(t, func(out *plumbline.Output) error {
		return role(c.info(t), plumbline.NewContext(host), out)
	})
	run.Progress = host.progress
	return run
}

// fake is the host of a check in a test.
type fake struct {
	granted
	progress []plumbline.Progress
}

func (f *fake) Open(path string) (fs.File, error) {
	if _, ok := f.files[strings.TrimPrefix(path, "/")]; ok {
		return f.files.Open(strings.TrimPrefix(path, "/"))
	}
	return f.directories.Open(path)
}

func (f *fake) Stat(path string) (fs.FileInfo, error) {
	if _, ok := f.files[strings.TrimPrefix(path, "/")]; ok {
		return f.files.Stat(strings.TrimPrefix(path, "/"))
	}
	return f.directories.Stat(path)
}

func (f *fake) LookupEnv(name string) (string, bool) {
	value, ok := f.env[name]
	return value, ok
}

func (f *fake) Now() time.Time {
	if f.now.IsZero() {
		return time.Now()
	}
	return f.now
}

// Sleep returns at once.
func (f *fake) Sleep(duration time.Duration) {
	if !f.now.IsZero() {
		f.now = f.now.Add(duration)
	}
}

func (f *fake) Report(progress plumbline.Progress) { f.progress = append(f.progress, progress) }

// named is the part of an object that the harness reads.
type named struct {
	Metadata struct{ Name, Namespace string }
}

// find returns the objects of the namespace, and the error after them.
func (f *fake) find(query plumbline.ObjectQuery) (found []json.RawMessage, names []string, fails error, err error) {
	list, ok := f.objects[[2]string{query.APIVersion, query.Resource}]
	if !ok {
		return nil, nil, nil, fmt.Errorf("the case grants no `%s` of `%s`: add them with `Case.Objects`", query.Resource, query.APIVersion)
	}
	for _, given := range list.objects {
		object, err := json.Marshal(given)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("an object of the case is not JSON: %w", err)
		}
		var about named
		if err := json.Unmarshal(object, &about); err != nil {
			return nil, nil, nil, fmt.Errorf("an object of the case has no metadata of Kubernetes: %w", err)
		}
		if query.Namespace == "" || about.Metadata.Namespace == query.Namespace {
			found, names = append(found, object), append(names, about.Metadata.Name)
		}
	}
	if list.fails != "" {
		fails = errors.New(list.fails)
	}
	return found, names, fails, nil
}

// List returns batches of a few objects, so that a check sees more than one.
func (f *fake) List(query plumbline.ObjectQuery) (next func() ([]json.RawMessage, error), stop func(), err error) {
	rest, _, fails, err := f.find(query)
	if err != nil {
		return nil, nil, err
	}
	next = func() ([]json.RawMessage, error) {
		if len(rest) == 0 {
			return nil, fails
		}
		batch := rest[:min(len(rest), 3)]
		rest = rest[len(batch):]
		return batch, nil
	}
	return next, func() {}, nil
}

func (f *fake) Get(query plumbline.ObjectQuery, name string) (json.RawMessage, error) {
	found, names, fails, err := f.find(query)
	if err != nil {
		return nil, err
	}
	for index := range found {
		if names[index] == name {
			return found[index], nil
		}
	}
	return nil, fails
}
