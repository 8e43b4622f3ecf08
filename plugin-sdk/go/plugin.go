package plumbline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Plugin is what a module may know of the plugin that it works for.
type Plugin struct {
	// Name is a DNS-1123 subdomain.
	Name string
	// Driver is "Job", "DaemonSet" or "Process". More may come: treat an unknown driver like "Job".
	Driver string
	// Format is the result-format of the definition, as written; empty when it names none.
	Format string
	// ExpectedResults is how many results the run expects of this plugin.
	ExpectedResults int
	// RawOptions are the free options that the definition gives its module: a JSON object.
	RawOptions json.RawMessage
}

// Options reads the definition's options into a struct; what they do not mention keeps the value that it has. A key that the struct does
// not know is an error, so that a misspelt one is named. The error is a sentence, ready to be returned from a role's function.
func (p Plugin) Options(into any) error {
	if len(p.RawOptions) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(p.RawOptions))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("the module's `options` do not fit: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the module's `options` do not fit: there is something behind the JSON object")
	}
	return nil
}
