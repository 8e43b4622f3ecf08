package plumbline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Plugin describes the plugin that the module works for.
type Plugin struct {
	// Name is a DNS-1123 subdomain.
	Name string
	// Driver is "Job", "DaemonSet" or "Process". More can be added later: treat an unknown driver
	// like "Job".
	Driver string
	// Format is the result-format of the definition, as written. It is empty if there is none.
	Format string
	// ExpectedResults is how many results the run expects of this plugin.
	ExpectedResults int
	// RawOptions contains the options of the definition for its module: a JSON object.
	RawOptions json.RawMessage
}

// Options decodes the definition's options into a struct. Fields without an option keep their
// value. An unknown key is an error, so that a misspelt one is reported. You can return the error
// from the function of a role.
func (p Plugin) Options(into any) error {
	if len(p.RawOptions) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(p.RawOptions))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("invalid options of the module: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("invalid options of the module: there is data after the JSON object")
	}
	return nil
}
