package plumbline

import "fmt"

// Level is the level of a line in the log.
type Level uint8

const (
	// LevelDebug is for the author of the module.
	LevelDebug Level = iota
	// LevelInfo is for information.
	LevelInfo
	// LevelWarning means that something is suspicious, and the result is still valid.
	LevelWarning
	// LevelError means that something is wrong with the result.
	LevelError
)

// String returns the name of the level.
func (l Level) String() string {
	return [...]string{"debug", "info", "warning", "error"}[min(l, LevelError)]
}

// Log writes a line to the log of the run. The host limits the log (by default 64 KiB per call), so
// do not log per item. In native tests, plumblinetest collects the lines. Without it, they go to
// standard error.
func Log(level Level, message string) { write(level, clean(message, 0)) }

// Infof writes an informational line.
func Infof(format string, arguments ...any) { Log(LevelInfo, fmt.Sprintf(format, arguments...)) }

// Warningf writes a line about something suspicious.
func Warningf(format string, arguments ...any) { Log(LevelWarning, fmt.Sprintf(format, arguments...)) }

// Errorf writes a line about something that is wrong with the result.
func Errorf(format string, arguments ...any) { Log(LevelError, fmt.Sprintf(format, arguments...)) }
