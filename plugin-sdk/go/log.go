package plumbline

import "fmt"

// Level is how much a line of the log matters.
type Level uint8

const (
	// LevelDebug is for who writes the module.
	LevelDebug Level = iota
	// LevelInfo is for who wants to know.
	LevelInfo
	// LevelWarning: something is odd, and the result is still good.
	LevelWarning
	// LevelError: something is wrong with the result.
	LevelError
)

// String is the level's name.
func (l Level) String() string {
	return [...]string{"debug", "info", "warning", "error"}[min(l, LevelError)]
}

// Log writes a line to the log of the run, which the host bounds (64 KiB a call unless set otherwise): do not log per item. In native tests
// it goes where plumblinetest collects it, else to standard error.
func Log(level Level, message string) { write(level, clean(message, 0)) }

// Infof writes a line for who wants to know.
func Infof(format string, arguments ...any) { Log(LevelInfo, fmt.Sprintf(format, arguments...)) }

// Warningf writes a line that says what is odd.
func Warningf(format string, arguments ...any) { Log(LevelWarning, fmt.Sprintf(format, arguments...)) }

// Errorf writes a line that says what is wrong with the result.
func Errorf(format string, arguments ...any) { Log(LevelError, fmt.Sprintf(format, arguments...)) }
