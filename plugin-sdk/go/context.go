package plumbline

import (
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// MaxReadFile is the most bytes that Context.ReadFile reads: 16 MiB. Use Context.Open for larger
// files.
const MaxReadFile = 16 << 20

// Context is what a check reads and reaches, and where it reports its progress.
//
// A path is that of the node, such as "/etc/kubernetes/kubelet.conf". It must be in a directory
// that the definition grants.
type Context struct{ host Host }

// Host is the host of a check: the sandbox, or a test harness.
type Host interface {
	// Open opens a regular file or a directory. The file of a directory is an fs.ReadDirFile.
	Open(path string) (fs.File, error)
	// Stat returns facts about a file or directory. It follows links.
	Stat(path string) (fs.FileInfo, error)
	// Attributes returns the owner and the mode of a file or directory. It follows links.
	Attributes(path string) (Attributes, error)
	// LookupEnv returns the value of a variable, and whether it is set.
	LookupEnv(name string) (string, bool)
	// Now returns the time of the node.
	Now() time.Time
	// Sleep waits.
	Sleep(duration time.Duration)
	ClusterHost
	NetworkHost
	// Report takes the progress.
	Report(progress Progress)
}

// Progress is the progress of a check.
type Progress struct {
	// Completed is the number of completed parts.
	Completed int
	// Total is the number of all parts, or 0 if it is not known.
	Total int
	// Message says what the check does now.
	Message string
}

// NewContext returns a context for a test harness, such as package plumblinetest.
func NewContext(host Host) *Context { return &Context{host} }

// Open opens a file, to read it as a stream. Close it: the host limits the number of open files.
func (c *Context) Open(path string) (fs.File, error) {
	file, err := c.host.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	return file, nil
}

// ReadFile reads a file of at most MaxReadFile bytes.
func (c *Context) ReadFile(path string) ([]byte, error) {
	file, err := c.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, MaxReadFile+1))
	if err != nil {
		return nil, fileError(path, err)
	}
	if len(content) > MaxReadFile {
		return nil, fileError(path, ErrTooLarge)
	}
	return content, nil
}

// ReadDir returns the entries of a directory, sorted by name. Their types do not follow links.
func (c *Context) ReadDir(path string) ([]fs.DirEntry, error) {
	file, err := c.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	directory, ok := file.(fs.ReadDirFile)
	if !ok {
		return nil, fileError(path, errNotDirectory)
	}
	entries, err := directory.ReadDir(-1)
	if err != nil {
		return nil, fileError(path, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Stat returns the type and the size of a file or directory. It follows links. Owners and modes are
// not those of the node: call Attributes.
func (c *Context) Stat(path string) (fs.FileInfo, error) {
	info, err := c.host.Stat(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	return info, nil
}

// Attributes are the owner and the mode of a file, by POSIX.
type Attributes struct {
	// Mode is the type and the permissions, such as 0o100600 (st_mode).
	Mode uint32
	// UID is the user ID.
	UID uint32
	// GID is the group ID.
	GID uint32
}

// Permissions returns the permissions, such as 0o600.
func (a Attributes) Permissions() uint32 { return a.Mode & 0o7777 }

// Attributes returns the owner and the mode of a file of any type, or of a directory. It follows
// links.
func (c *Context) Attributes(path string) (Attributes, error) {
	attributes, err := c.host.Attributes(path)
	if err != nil {
		return Attributes{}, fileError(path, err)
	}
	return attributes, nil
}

// LookupEnv returns the value of an environment variable, and whether it is set and granted.
func (c *Context) LookupEnv(name string) (string, bool) { return c.host.LookupEnv(name) }

// Now returns the time of the node.
func (c *Context) Now() time.Time { return c.host.Now() }

// Sleep waits. The time counts toward the time limit of the check.
func (c *Context) Sleep(duration time.Duration) { c.host.Sleep(duration) }

// Progress reports that so many of total parts are done, and what the check does now. total is 0 as
// long as it is not known. The host skips reports that follow each other quickly.
func (c *Context) Progress(completed, total int, message string) {
	c.host.Report(Progress{max(completed, 0), max(total, 0), clean(message, 0)})
}
