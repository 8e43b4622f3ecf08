package plumbline

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"strings"
)

const (
	// readBytes is how many bytes are requested from the host at once. Each piece becomes garbage:
	// larger ones are not faster and grow the heap.
	readBytes = 256 << 10
	// MaxLine is how many bytes File.Lines keeps of a line.
	MaxLine = 1 << 20
)

// File is a file of the result set. It can be read once, from start to end. An error of Read has
// the message of the host: put it under the meta key "error" of the file's item.
type File struct {
	path   string
	size   uint64
	read   func(max uint32) ([]byte, error)
	buffer []byte
	err    error
}

// NewFile returns a file for a test harness, such as package plumblinetest. read returns at most
// max bytes, and none at the end.
func NewFile(path string, size uint64, read func(max uint32) ([]byte, error)) *File {
	return &File{path: path, size: size, read: read}
}

// Path returns the path relative to the plugin's directory in the archive, such as
// "results/global/junit_01.xml". It is unique within a result set.
func (f *File) Path() string { return f.path }

// Name returns the last part of the path.
func (f *File) Name() string { return f.path[strings.LastIndexByte(f.path, '/')+1:] }

// Size returns the size in bytes when the call started.
func (f *File) Size() uint64 { return f.size }

// Read implements io.Reader.
func (f *File) Read(into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	if len(f.buffer) == 0 && f.err == nil {
		f.buffer, f.err = f.read(readBytes)
		if f.err == nil && len(f.buffer) == 0 {
			f.err = io.EOF
		}
	}
	if len(f.buffer) == 0 {
		f.buffer = nil
		return 0, f.err
	}
	taken := copy(into, f.buffer)
	if f.buffer = f.buffer[taken:]; len(f.buffer) == 0 {
		// An empty slice would keep the whole piece in memory until the end of the call, because
		// files live that long.
		f.buffer = nil
	}
	return taken, nil
}

// Lines iterates over the lines of the file without their ends (LF or CR LF). Lines are cut at
// MaxLine, so a hostile file cannot fill the memory. LinesUpTo takes another limit. If the file
// cannot be read to its end, the last pair has an error.
func (f *File) Lines() iter.Seq2[string, error] { return f.LinesUpTo(MaxLine) }

// LinesUpTo is like Lines, with a limit in bytes.
func (f *File) LinesUpTo(max int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		reader := bufio.NewReaderSize(f, 64<<10)
		for {
			line, err := boundedLine(reader, max)
			if err == nil || (errors.Is(err, io.EOF) && line != "") {
				if !yield(line, nil) {
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield("", err)
				}
				return
			}
		}
	}
}

func boundedLine(reader *bufio.Reader, max int) (string, error) {
	var line []byte
	for {
		piece, err := reader.ReadSlice('\n')
		if room := max - len(line); room > 0 {
			line = append(line, piece[:min(len(piece), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			text := strings.TrimSuffix(string(line), "\n")
			return strings.TrimSuffix(text, "\r"), err
		}
	}
}
