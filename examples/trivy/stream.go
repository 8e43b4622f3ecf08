package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// maxElement is how far reading may run ahead of parsing: the size of one finding, or of one skipped value.
const maxElement = 16 << 20

// maxNesting is how deep a skipped value may be nested. Reports of Trivy are less deeply nested.
const maxNesting = 1000

var errTooLarge = fmt.Errorf("one value of the report has more than %d MiB", maxElement>>20)

// stream reads JSON value by value, so that a report may be larger than memory.
type stream struct {
	*json.Decoder
	file *plumbline.File
	read int64
}

func newStream(file *plumbline.File) *stream {
	s := &stream{file: file}
	s.Decoder = json.NewDecoder(s)
	return s
}

// Read passes the file to the decoder, as long as the decoder makes progress.
func (s *stream) Read(into []byte) (int, error) {
	if s.read-s.InputOffset() > maxElement {
		return 0, errTooLarge
	}
	taken, err := s.file.Read(into)
	s.read += int64(taken)
	return taken, err
}

// object calls member for each key of the next object. The function must read the value. Null is an
// object without keys.
func (s *stream) object(member func(key string) error) error {
	return s.each('{', func() error {
		key, err := s.Token()
		if err != nil {
			return early(err)
		}
		// The decoder guarantees that a key is a string.
		name, _ := key.(string)
		return member(name)
	})
}

// array calls element for each element of the next array. The function must read it. Null is an
// array without elements.
func (s *stream) array(element func() error) error { return s.each('[', element) }

func (s *stream) each(open json.Delim, next func() error) error {
	start, err := s.Token()
	if err != nil || start == nil {
		return early(err)
	}
	if start != open {
		return fmt.Errorf("not a report of Trivy: expected `%s` at byte %d", open, s.InputOffset())
	}
	for s.More() {
		if err := next(); err != nil {
			return err
		}
	}
	_, err = s.Token()
	return early(err)
}

// value reads a value of the type that into points to.
func (s *stream) value(into any) error { return early(s.Decode(into)) }

// pass skips a value of any type.
func (s *stream) pass() error {
	depth := 0
	for {
		token, err := s.Token()
		if err != nil {
			return early(err)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxNesting {
			return fmt.Errorf("a value of the report is nested more than %d levels deep", maxNesting)
		}
		if depth == 0 {
			return nil
		}
	}
}

// early turns an end of the file inside a value into an error.
func early(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the report ends too early")
	}
	return err
}
