package plumblinetest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// inventory emits an item for each entry of a directory with its content, and one for each pod.
func inventory(plugin plumbline.Plugin, ctx *plumbline.Context, out *plumbline.Output) error {
	options := struct{ Directory string }{"/etc/app"}
	if err := plugin.Options(&options); err != nil {
		return err
	}
	entries, err := ctx.ReadDir(options.Directory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		item := plumbline.Item{Name: entry.Name(), Status: plumbline.Passed}
		content, err := ctx.ReadFile(options.Directory + "/" + entry.Name())
		if err != nil {
			item.Status, item.Meta = plumbline.Unknown, plumbline.Meta{"error": err.Error()}
		}
		item.Details = plumbline.Details{"content": string(content)}
		out.Emit(item)
	}
	ctx.Progress(1, 2, "files")
	pods := plumbline.ObjectQuery{APIVersion: "v1", Resource: "pods", Namespace: "kube-system"}
	for object, err := range ctx.Objects(pods) {
		if err != nil {
			return err
		}
		var pod struct{ Metadata struct{ Name string } }
		if err := json.Unmarshal(object, &pod); err != nil {
			return err
		}
		known, err := ctx.Object(pods, pod.Metadata.Name)
		unknown, _ := ctx.Object(pods, "nobody")
		if err != nil || known == nil || unknown != nil {
			return errors.New("Object does not find what Objects lists")
		}
		out.Emit(plumbline.Item{Name: pod.Metadata.Name, Status: plumbline.Passed})
	}
	cluster, _ := ctx.LookupEnv("CLUSTER")
	out.Emit(plumbline.Item{Name: cluster + ctx.Now().Format(" 2006"), Status: plumbline.Passed})
	return nil
}

func pod(name, namespace string) any {
	return map[string]any{"metadata": map[string]string{"name": name, "namespace": namespace}}
}

func TestACheckReadsWhatTheCaseGrants(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "app/sub"), 0o755),
		os.MkdirAll(filepath.Join(dir, "app-2"), 0o755),
		os.WriteFile(filepath.Join(dir, "app/b"), []byte("text"), 0o644),
		os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o644),
		os.Symlink("../secret", filepath.Join(dir, "app/link")),
		os.Symlink("b", filepath.Join(dir, "app/inside")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	given := New().NodeDirectory("/etc/app", filepath.Join(dir, "app")).Env("CLUSTER", "test").
		Now(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)).
		Objects("v1", "pods", pod("dns", "kube-system"), pod("web", "default"), pod("a", "kube-system"), pod("b", "kube-system"), pod("c", "kube-system"))
	run := given.Check(t, inventory)
	want := "b: passed\ninside: passed\nlink: unknown\nsub: unknown\ndns: passed\na: passed\nb: passed\nc: passed\ntest 2030: passed\n"
	if run.Outline() != want || run.Err != nil || run.Item("inside").Details["content"] != "text" {
		t.Errorf("got %s%v", run.Outline(), run.Err)
	}
	if cause := run.Item("link").Meta["error"]; cause != "failed to read `/etc/app/link`: not permitted" {
		t.Errorf("got %s", cause)
	}
	if len(run.Progress) != 1 || run.Progress[0] != (plumbline.Progress{Completed: 1, Total: 2, Message: "files"}) {
		t.Errorf("got %v", run.Progress)
	}
	if run := given.BrokenObjects("v1", "pods", "the API server is gone").Check(t, inventory); run.Err == nil || run.Err.Error() != "the API server is gone" {
		t.Errorf("got %v", run.Err)
	}
	for _, other := range []string{"/etc/app-2", "/etc/app/../app-2", "etc/app", "/"} {
		if run := given.Option("directory", other).Check(t, inventory); !errors.Is(run.Err, plumbline.ErrNotGranted) || errors.Is(run.Err, fs.ErrNotExist) {
			t.Errorf("%s: got %v", other, run.Err)
		}
	}
	if run := given.Option("directory", "/etc/app/none").Check(t, inventory); !errors.Is(run.Err, fs.ErrNotExist) || run.Err.Error() != "failed to read `/etc/app/none`: it does not exist" {
		t.Errorf("got %v", run.Err)
	}
}

func TestWhatIsNotGrantedIsNamed(t *testing.T) {
	run := New().NodeDirectory("/etc/app", t.TempDir()).Check(t, inventory)
	if run.Err == nil || run.Err.Error() != "the case grants no `pods` of `v1`: add them with `Case.Objects`" {
		t.Errorf("got %v", run.Err)
	}
}

func TestALargeFileIsReadAsAStreamOnly(t *testing.T) {
	given := New().NodeFile("/proc/large", strings.Repeat("x", plumbline.MaxReadFile+1))
	run := given.Check(t, func(_ plumbline.Plugin, ctx *plumbline.Context, _ *plumbline.Output) error {
		info, err := ctx.Stat("/proc/large")
		if err != nil || info.Size() != plumbline.MaxReadFile+1 {
			t.Errorf("got %v, %v", info, err)
		}
		_, err = ctx.ReadFile("/proc/large")
		return err
	})
	if !errors.Is(run.Err, plumbline.ErrTooLarge) {
		t.Errorf("got %v", run.Err)
	}
}
