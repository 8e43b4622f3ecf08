package plumblinetest

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// status is that of an item about a target.
func status(err error) plumbline.Status {
	switch {
	case err == nil:
		return plumbline.Passed
	case plumbline.IsOfTarget(err):
		return plumbline.Failed
	default:
		return plumbline.Unknown
	}
}

func TestACheckReachesWhatTheCaseGrants(t *testing.T) {
	refused := &plumbline.NetworkError{Kind: plumbline.NetworkRefused, Cause: "refused"}
	given := New().
		Response("GET", "https://a.example/", plumbline.Response{Status: 503, Headers: []plumbline.Header{{Name: "server", Value: "b"}}}, nil).
		Name("a.example", []string{"192.0.2.1"}, nil).
		Connection("192.0.2.1", 443, plumbline.Connection{Address: "192.0.2.1:443", Took: time.Millisecond}).
		Connection("192.0.2.1", 22, plumbline.Connection{Err: refused})
	run := given.Check(t, func(_ plumbline.Plugin, ctx *plumbline.Context, out *plumbline.Output) error {
		response, err := ctx.Send(plumbline.Request{URL: "https://a.example/", Trust: plumbline.TrustAny})
		if response.Status != 503 || response.Header("server") != "b" {
			t.Errorf("got %v", response)
		}
		out.Emit(plumbline.Item{Name: "send", Status: status(err)})
		addresses, err := ctx.Resolve("a.example")
		out.Emit(plumbline.Item{Name: addresses[0], Status: status(err)})
		_, err = ctx.Resolve("b.example")
		out.Emit(plumbline.Item{Name: err.Error(), Status: status(err)})

		// More than one chunk of the host.
		targets := make([]plumbline.Target, plumbline.MaxTargets+2)
		targets[0] = plumbline.Target{Host: "192.0.2.1", Port: 443}
		targets[plumbline.MaxTargets+1] = plumbline.Target{Host: "192.0.2.1", Port: 22}
		results := ctx.Connect(targets, plumbline.Attempts{Wait: time.Minute})
		if len(results) != len(targets) || results[0].Took != time.Millisecond {
			t.Errorf("got %d, %v", len(results), results[0])
		}
		out.Emit(plumbline.Item{Name: "open", Status: status(results[0].Err)})
		out.Emit(plumbline.Item{Name: "closed", Status: status(results[plumbline.MaxTargets+1].Err)})
		out.Emit(plumbline.Item{Name: "not granted", Status: status(results[1].Err)})
		return nil
	})
	want := "send: passed\n192.0.2.1: passed\nthe case does not grant `b.example`: add it with `Case.Name`: unknown\n" +
		"open: passed\nclosed: failed\nnot granted: unknown\n"
	if run.Outline() != want || run.Err != nil {
		t.Errorf("got %s%v", run.Outline(), run.Err)
	}
}

func TestACheckReadsOwnersAndModes(t *testing.T) {
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	given := New().NodeDirectory("/etc", t.TempDir()).NodeFile("/etc/key", "").NodeFile("/etc/other", "").
		Attributes("/etc/key", plumbline.Attributes{Mode: 0o100600, UID: 1, GID: 2}).Now(start)
	given.Check(t, func(_ plumbline.Plugin, ctx *plumbline.Context, _ *plumbline.Output) error {
		key, err := ctx.Attributes("/etc/key")
		if err != nil || key.Permissions() != 0o600 || key.UID != 1 || key.GID != 2 {
			t.Errorf("got %v, %v", key, err)
		}
		for path, mode := range map[string]uint32{"/etc": 0o040755, "/etc/other": 0o100644} {
			if about, err := ctx.Attributes(path); err != nil || about != (plumbline.Attributes{Mode: mode}) {
				t.Errorf("%s: got %v, %v", path, about, err)
			}
		}
		if _, err := ctx.Attributes("/etc/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
		if _, err := ctx.Attributes("/var"); !errors.Is(err, plumbline.ErrNotGranted) {
			t.Errorf("got %v", err)
		}
		ctx.Sleep(time.Hour)
		if now := ctx.Now(); now != start.Add(time.Hour) {
			t.Errorf("got %v", now)
		}
		return nil
	})
}
