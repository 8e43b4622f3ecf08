// The JUnit module of the language benchmark, in Go. It reads the tokens of encoding/xml, and emits items as soon as
// they are complete.
package main

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

func init() { plumbline.PostProcessor(process) }

func main() {}

func process(_ plumbline.Plugin, files []*plumbline.File, out *plumbline.Output) error {
	for _, file := range files {
		out.Emit(plumbline.Item{Name: file.Name(), Meta: plumbline.Meta{"file": file.Path(), "type": "file"}})
		report := &report{out: out}
		if err := report.read(file); err != nil {
			report.breakOff("unreadable", err)
		}
	}
	return nil
}

// read handles the raw tokens, because namespaces have no meaning here. The code below checks that elements are closed
// in order.
func (r *report) read(file *plumbline.File) error {
	decoder := xml.NewDecoder(bufio.NewReaderSize(file, 64<<10))
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if err := r.start(token); err != nil {
				return err
			}
		case xml.CharData:
			r.text(token)
		case xml.EndElement:
			if err := r.end(token.Name.Local); err != nil {
				return err
			}
		}
	}
	if len(r.open) > 0 {
		return fmt.Errorf("the file ends within `%s`", r.open[len(r.open)-1])
	}
	if !r.tested {
		r.breakOff("no test case", errors.New("the report has no test case: nothing was tested"))
	}
	return nil
}
