package plumbline

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// PostProcessorFunc reads the files of one result set, and emits items. Files come in the lexical order of their paths.
type PostProcessorFunc func(plugin Plugin, files []*File, out *Output) error

// ExpectationsFunc says whose results must arrive before the plugin is complete. podSpec is the definition's, nil when it has none (the
// driver's default applies, which tolerates every taint). Naming one result twice, or a node that is not in nodes, is an error.
type ExpectationsFunc func(plugin Plugin, podSpec json.RawMessage, nodes []Node) ([]Expected, error)

// SummarizerFunc reads the items of all result sets of a plugin, and emits further items, which become children of the plugin's root.
type SummarizerFunc func(plugin Plugin, results *Results, out *Output) error

// JudgeFunc reads the finished tree of a plugin, and says of its leaves whether they count as failures, and of the whole whether it meets its
// requirements. The evidence is what the definition names for it: files of its data as "data/NAME", then files of the archive. Judges are called
// in the order of the definition's chain; each sees what those before it said.
type JudgeFunc func(plugin Plugin, tree *Tree, evidence []*File, out *Rulings) error

// What the module registered.
var (
	postProcessor PostProcessorFunc
	expectations  ExpectationsFunc
	summarizer    SummarizerFunc
	judge         JudgeFunc
)

// PostProcessor makes the program a post-processor. Call it in init: main is never called.
func PostProcessor(role PostProcessorFunc) { postProcessor = role }

// Expectations makes the program an expectation. Call it in init: main is never called.
func Expectations(role ExpectationsFunc) { expectations = role }

// Summarizer makes the program a summarizer. Call it in init: main is never called.
func Summarizer(role SummarizerFunc) { summarizer = role }

// Judge makes the program a judge. Call it in init: main is never called.
func Judge(role JudgeFunc) { judge = role }

// errUnregistered is for a module that was built for a role which it does not play.
func errUnregistered(call string) error {
	return fmt.Errorf("the module has no %s: call plumbline.%s in init, and build for the world of that role", call, call)
}

// maxTrace bounds what a panic writes into the log, all of which has 64 KiB.
const maxTrace = 8 << 10

// guarded calls the role, and makes an error of a panic: the trace goes to the log, which a person reads, and what was emitted stays.
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
