//go:build !wasip1

package plumbline

import (
	"fmt"
	"os"
	"sync/atomic"
)

// Outside of a module, tests read the log.
var collect atomic.Pointer[func(Level, string)]

// CollectLog passes the lines of the log to collect until the returned function is called. It is
// for test harnesses and missing in a module.
func CollectLog(into func(Level, string)) (stop func()) {
	before := collect.Swap(&into)
	return func() { collect.Store(before) }
}

func write(level Level, message string) {
	if into := collect.Load(); into != nil {
		(*into)(level, message)
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", level, message)
}

// Guarded calls a role as the host does: a panic becomes an error. It is for test harnesses and
// missing in a module.
func Guarded(call func() error) error { return guarded(call) }
