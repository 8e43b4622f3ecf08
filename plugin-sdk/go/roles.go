package plumbline

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// PostProcessorFunc reads the files of one result set, and emits items. Files come in the lexical
// order of their paths.
type PostProcessorFunc func(plugin Plugin, files []*File, out *Output) error

// ExpectationsFunc returns the results that must arrive before the plugin is complete. podSpec is
// that of the definition, or nil. Without one, the default of the driver applies, which tolerates
// every taint. A result that occurs twice, or a node that is not in nodes, is an error.
type ExpectationsFunc func(plugin Plugin, podSpec json.RawMessage, nodes []Node) ([]Expected, error)

// SummarizerFunc reads the items of all result sets of a plugin, and emits further items, which
// become children of the plugin's root.
type SummarizerFunc func(plugin Plugin, results *Results, out *Output) error

// JudgeFunc reads the finished tree of a plugin, rules whether its leaves count as failures, and
// reports checks on the results as a whole. The evidence is the files that the definition lists:
// those of its data as "data/NAME", then files of the archive. Judges are called in the order of
// the definition's chain. Each sees the rulings of those before it.
type JudgeFunc func(plugin Plugin, tree *Tree, evidence []*File, out *Rulings) error

// CheckerFunc checks a node or a cluster itself: it reads what ctx grants, and emits items. The host
// calls it once for each result of the plugin: on every node, or once for the cluster. If a single
// file or object cannot be read, emit an Unknown item with the cause under the meta key "error", and
// continue.
type CheckerFunc func(plugin Plugin, ctx *Context, out *Output) error

// The functions that the module registered.
var (
	postProcessor PostProcessorFunc
	expectations  ExpectationsFunc
	summarizer    SummarizerFunc
	judge         JudgeFunc
	checker       CheckerFunc
)

// PostProcessor makes the program a post-processor. Call it in init, because main is never called.
func PostProcessor(role PostProcessorFunc) { postProcessor = role }

// Expectations gives the program the role expectations. Call it in init, because main is never
// called.
func Expectations(role ExpectationsFunc) { expectations = role }

// Summarizer makes the program a summarizer. Call it in init, because main is never called.
func Summarizer(role SummarizerFunc) { summarizer = role }

// Judge makes the program a judge. Call it in init, because main is never called.
func Judge(role JudgeFunc) { judge = role }

// Checker makes the program a check. Call it in init, because main is never called.
func Checker(role CheckerFunc) { checker = role }

// errUnregistered is the error of a module that was built for a role without a registered function.
func errUnregistered(call string) error {
	return fmt.Errorf("the module has no %s: call plumbline.%s in init, and build for the world of that role", call, call)
}

// maxTrace bounds what a panic writes to the log, which has 64 KiB.
const maxTrace = 8 << 10

// guarded calls the role and turns a panic into an error. The trace goes to the log, and emitted
// items stay.
func guarded(call func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			trace := debug.Stack()
			Log(LevelError, fmt.Sprintf("panic: %v\n%s", cause, trace[:min(len(trace), maxTrace)]))
			err = fmt.Errorf("the module has a bug: panic: %v", cause)
		}
	}()
	return call()
}
