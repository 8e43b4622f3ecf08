// Package plumblinetest runs modules natively in `go test`, without WebAssembly, and checks what
// the host would check.
//
//	run := plumblinetest.New().File("results/global/a.verdicts", "ok disk\n").PostProcess(t, process)
//	if run.Outline() != "a.verdicts: -\n  disk: passed\n" { … }
package plumblinetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// Case is the input of a module: plugin, files, nodes and results. Its methods change and return
// it.
type Case struct {
	plugin  plumbline.Plugin
	options map[string]any
	files   []input
	chunk   int
	podSpec any
	nodes   []plumbline.Node
	entries []plumbline.Entry
	broken  string
	ruled   []ruled
	granted granted
}

type input struct {
	path string
	size uint64
	open func() (io.Reader, error)
	// fails is the error at the end, or empty.
	fails string
}

// New returns a case with a plugin `test` of driver Job, without options, files and nodes.
func New() *Case {
	return &Case{
		plugin:  plumbline.Plugin{Name: "test", Driver: "Job", ExpectedResults: 1},
		options: map[string]any{},
		granted: granted{
			directories: plumbline.Directories{},
			files:       fstest.MapFS{},
			env:         map[string]string{},
			objects:     map[[2]string]recorded{},
			attributes:  map[string]plumbline.Attributes{},
			responses:   map[[2]string]result[plumbline.Response]{},
			names:       map[string]result[[]string]{},
			connections: map[plumbline.Target]plumbline.Connection{},
		},
	}
}

// Plugin sets the plugin. Its RawOptions are those that Option added.
func (c *Case) Plugin(plugin plumbline.Plugin) *Case {
	c.plugin = plugin
	return c
}

// Option adds an option of the definition.
func (c *Case) Option(key string, value any) *Case {
	c.options[key] = value
	return c
}

// File adds a file under its path in the archive, such as "results/global/a.xml". The module gets
// the files in this order.
func (c *Case) File(path, content string) *Case {
	return c.add(input{path, uint64(len(content)), func() (io.Reader, error) { return strings.NewReader(content), nil }, ""})
}

// BrokenFile adds a file that delivers content and then fails with the error.
func (c *Case) BrokenFile(path, content, fails string) *Case {
	return c.add(input{path, uint64(len(content)), func() (io.Reader, error) { return strings.NewReader(content), nil }, fails})
}

// FileFrom adds a file from disk under its path in the archive.
func (c *Case) FileFrom(path, disk string) *Case {
	var size uint64
	if about, err := os.Stat(disk); err == nil {
		size = uint64(about.Size())
	}
	return c.add(input{path, size, func() (io.Reader, error) { return os.Open(disk) }, ""})
}

// GeneratedFile adds a file that open generates while it is read, for files larger than memory. The
// module sees the given size.
func (c *Case) GeneratedFile(path string, size uint64, open func() io.Reader) *Case {
	return c.add(input{path, size, func() (io.Reader, error) { return open(), nil }, ""})
}

func (c *Case) add(file input) *Case {
	c.files = append(c.files, file)
	return c
}

// Chunk limits each read to so many bytes. The outcome must not depend on where the host splits a
// file.
func (c *Case) Chunk(bytes int) *Case {
	c.chunk = max(bytes, 1)
	return c
}

// PodSpec sets the definition's podSpec: any value that encodes to JSON.
func (c *Case) PodSpec(spec any) *Case {
	c.podSpec = spec
	return c
}

// Node adds a node of the cluster.
func (c *Case) Node(node plumbline.Node) *Case {
	c.nodes = append(c.nodes, node)
	return c
}

// Results adds the items of a result set (the name of a node, or "global") for a summarizer or a
// judge. They keep the given status: unlike the host, the harness does not roll statuses up before.
func (c *Case) Results(set string, items ...plumbline.Item) *Case {
	for _, item := range items {
		c.entries = append(c.entries, plumbline.Entry{Set: set, Item: item})
	}
	return c
}

// BrokenResults makes reading fail with the error after the added results.
func (c *Case) BrokenResults(fails string) *Case {
	c.broken = fails
	return c
}

func (c *Case) info(t testing.TB) plumbline.Plugin {
	t.Helper()
	raw, err := json.Marshal(c.options)
	if err != nil {
		t.Fatalf("the options of the case are not JSON: %v", err)
	}
	plugin := c.plugin
	plugin.RawOptions = raw
	return plugin
}

// file returns a file for the module.
func (c *Case) file(from input) *plumbline.File {
	var reader io.Reader
	return plumbline.NewFile(from.path, from.size, func(max uint32) ([]byte, error) {
		if reader == nil {
			var err error
			if reader, err = from.open(); err != nil {
				return nil, err
			}
		}
		if c.chunk > 0 {
			max = min(max, uint32(c.chunk))
		}
		piece := make([]byte, max)
		read, err := io.ReadFull(reader, piece)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		if read == 0 && from.fails != "" {
			return nil, errors.New(from.fails)
		}
		return piece[:read], nil
	})
}

// results returns the entries in small batches, so that a module sees more than one.
func (c *Case) results() *plumbline.Results {
	rest := c.entries
	return plumbline.NewResults(func(limit uint32) ([]plumbline.Entry, error) {
		if len(rest) == 0 && c.broken != "" {
			return nil, errors.New(c.broken)
		}
		taken := min(len(rest), int(limit), 3)
		batch := rest[:taken]
		rest = rest[taken:]
		return batch, nil
	})
}

// Expect runs expectations. It returns the error of the module, and an error for results that the
// host would reject.
func (c *Case) Expect(t testing.TB, role plumbline.ExpectationsFunc) (expected []plumbline.Expected, err error) {
	t.Helper()
	var spec json.RawMessage
	if c.podSpec != nil {
		if spec, err = json.Marshal(c.podSpec); err != nil {
			t.Fatalf("the pod spec of the case is not JSON: %v", err)
		}
	}
	err = plumbline.Guarded(func() (err error) {
		expected, err = role(c.info(t), spec, c.nodes)
		return err
	})
	if err != nil {
		return nil, err
	}
	known := map[string]bool{"": true}
	for _, node := range c.nodes {
		known[node.Name] = true
	}
	seen := map[string]bool{}
	for _, result := range expected {
		if !known[result.Node] {
			return nil, fmt.Errorf("node `%s` is not one of the nodes given", result.Node)
		}
		if seen[result.Node] {
			return nil, fmt.Errorf("the result of `%s` is listed twice", result.Node)
		}
		seen[result.Node] = true
	}
	return expected, nil
}
