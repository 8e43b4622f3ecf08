package plumbline

import (
	"io"
	"testing"
)

// Files live until the end of the call. Ten thousand small ones must not keep ten thousand pieces
// of the host in memory.
func TestAFileThatWasReadKeepsNothing(t *testing.T) {
	pieces := [][]byte{make([]byte, 10, readBytes), make([]byte, 0, readBytes)}
	file := NewFile("a", 10, func(uint32) ([]byte, error) {
		piece := pieces[0]
		pieces = pieces[1:]
		return piece, nil
	})
	into := make([]byte, 10)
	if taken, err := file.Read(into); taken != 10 || err != nil || file.buffer != nil {
		t.Fatalf("%d, %v, %d bytes kept", taken, err, cap(file.buffer))
	}
	if taken, err := file.Read(into); taken != 0 || err != io.EOF || file.buffer != nil {
		t.Fatalf("%d, %v, %d bytes kept", taken, err, cap(file.buffer))
	}
}
