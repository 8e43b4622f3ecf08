// Compares settings of the kernel with the value 1, as the check of the templates does. It is the
// only file of an image.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const results = "/tmp/sonobuoy/results/"

// id makes the image of each test another one, so that no node has its layer.
var id string

type item struct {
	Depth   int               `json:"depth"`
	Name    string            `json:"name"`
	Status  string            `json:"status"`
	Meta    map[string]string `json:"meta,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}

func compare(name string) item {
	content, err := os.ReadFile("/proc/sys/" + name)
	got := strings.TrimSpace(string(content))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return item{Name: name, Status: "skipped", Details: map[string]string{"reason": err.Error()}}
	case err != nil:
		return item{Name: name, Status: "unknown", Meta: map[string]string{"error": err.Error()}}
	case got != "1":
		return item{Name: name, Status: "failed", Details: map[string]string{"failure": "want 1, got " + got}}
	default:
		return item{Name: name, Status: "passed"}
	}
}

func run() error {
	file, err := os.Create(results + "items.jsonl")
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	for _, name := range strings.Split(os.Getenv("SETTINGS"), ",") {
		if err := encoder.Encode(compare(name)); err != nil {
			return err
		}
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.WriteFile(results+"done", []byte(file.Name()), 0o644)
}

func main() {
	fmt.Println(id)
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The pod of a DaemonSet would be restarted.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
}
