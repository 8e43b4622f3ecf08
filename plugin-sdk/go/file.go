package plumbline

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"strings"
)

const (
	// readBytes are asked of the host at once. Each piece is garbage afterwards: larger ones gain nothing and let the heap grow.
	readBytes = 256 << 10
	// MaxLine is the bytes that File.Lines keeps of a line.
	MaxLine = 1 << 20
)

// File is a file of the result set: read-only, from start to end, once. An error of Read shows the host's sentence unchanged: put it under
// the meta key "error" of the file's item.
type File struct {
	path   string
	size   uint64
	read   func(max uint32) ([]byte, error)
	buffer []byte
	err    error
}

// NewFile is for harnesses of one's own; package plumblinetest has one ready. read gives the next bytes, at most max of them; none at the
// end.
func NewFile(path string, size uint64, read func(max uint32) ([]byte, error)) *File {
	return &File{path: path, size: size, read: read}
}

// Path is where the file is, relative to the plugin's directory in the archive, such as "results/global/junit_01.xml". Unique within a
// result set.
func (f *File) Path() string { return f.path }

// Name is the last part of the path.
func (f *File) Name() string { return f.path[strings.LastIndexByte(f.path, '/')+1:] }

// Size is the size in bytes at the moment the call began.
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
		// An empty slice would keep the whole piece in memory as long as the file, and files are kept until the call is over.
		f.buffer = nil
	}
	return taken, nil
}

// Lines are the lines of the file without their ends (LF or CR LF). Of a line longer than MaxLine the rest is left out, so a hostile file
// cannot fill the memory; LinesUpTo takes another bound. The last pair has an error when the file could not be read to its end.
func (f *File) Lines() iter.Seq2[string, error] { return f.LinesUpTo(MaxLine) }

// LinesUpTo is Lines with a bound of one's own, in bytes.
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
