package plumbline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

var (
	// ErrNotGranted is the cause if no granted directory contains the path, or if the granted
	// directory does not exist on the node.
	ErrNotGranted = errors.New("no granted directory contains it")
	// ErrTooLarge is the cause if a file has more than MaxReadFile bytes.
	ErrTooLarge = fmt.Errorf("more than %d MiB", MaxReadFile>>20)

	errNotDirectory = errors.New("not a directory")
)

// FileError is the error of a file or directory that a check cannot read. Ask errors.Is for the
// cause: ErrNotGranted, fs.ErrNotExist, fs.ErrPermission or ErrTooLarge.
type FileError struct {
	// Path is the path on the node.
	Path string
	// Err is the cause.
	Err error
}

// Error returns a sentence with the path and the cause.
func (e *FileError) Error() string {
	cause := e.Err.Error()
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		cause = "it does not exist"
	case errors.Is(e.Err, fs.ErrPermission):
		cause = "not permitted"
	}
	return fmt.Sprintf("failed to read `%s`: %s", e.Path, cause)
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// escapes is the error of package os for a link that leads out of a root. It has no value for it.
const escapes = "path escapes from parent"

func fileError(path string, err error) error {
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	if err.Error() == escapes {
		err = fs.ErrPermission
	}
	return &FileError{path, err}
}

// Directories are granted directories by their paths on the node, with their paths on disk.
type Directories map[string]string

// Open opens a regular file or a directory. Links that lead out of the granted directory fail.
func (d Directories) Open(name string) (file fs.File, err error) {
	err = d.in(name, func(root *os.Root, rest string) error {
		// Opening a pipe would wait for its other end.
		info, err := root.Stat(rest)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() && !info.IsDir() {
			return fs.ErrPermission
		}
		// Do not return a nil *os.File as an fs.File.
		if opened, openErr := root.Open(rest); openErr == nil {
			file = opened
		} else {
			err = openErr
		}
		return err
	})
	return file, err
}

// Stat returns facts about a file or directory. It follows links inside the granted directory.
func (d Directories) Stat(name string) (info fs.FileInfo, err error) {
	err = d.in(name, func(root *os.Root, rest string) (err error) {
		info, err = root.Stat(rest)
		return err
	})
	return info, err
}

// in calls what with the innermost granted directory that contains the file, and with the path in
// it.
func (d Directories) in(name string, what func(root *os.Root, rest string) error) error {
	disk, rest, ok := d.locate(name)
	if !ok {
		return ErrNotGranted
	}
	root, err := os.OpenRoot(disk)
	if err != nil {
		return err
	}
	defer root.Close()
	return what(root, rest)
}

// locate returns where the innermost granted directory that contains the file is on disk, and the
// path in it. It is false if no directory contains the file.
func (d Directories) locate(name string) (disk, rest string, ok bool) {
	if !path.IsAbs(name) {
		return "", "", false
	}
	cleaned := path.Clean(name)
	for granted := cleaned; ; granted = path.Dir(granted) {
		if disk, ok = d[granted]; ok {
			rest = strings.TrimPrefix(strings.TrimPrefix(cleaned, granted), "/")
			if rest == "" {
				rest = "."
			}
			return disk, rest, true
		}
		if granted == "/" {
			return "", "", false
		}
	}
}
