// Package plumbline is the SDK for Plumbline modules in Go.
//
// A module interprets the results of a plugin. A post-processor turns files into a tree of items,
// expectations list the results that must arrive, a summarizer adds items about all results, a judge
// decides what counts, and a check reads a node or a cluster itself. A module is a WebAssembly
// component in a sandbox, and sees only its arguments and what the definition grants. You write one
// function, register it in init, and test it with `go test` like any other code:
//
//	func init() { plumbline.PostProcessor(process) }
//
//	func process(plugin plumbline.Plugin, files []*plumbline.File, out *plumbline.Output) error {
//		for _, file := range files {
//			// No status: the host rolls it up from the children.
//			out.Emit(plumbline.Item{Name: file.Name(), Meta: plumbline.Meta{"file": file.Path(), "type": "file"}})
//			for line, err := range file.Lines() {
//				if err != nil {
//					out.Emit(plumbline.Item{Depth: 1, Name: "unreadable", Status: plumbline.Unknown, Meta: plumbline.Meta{"error": err.Error()}})
//					break
//				}
//				out.Emit(plumbline.Item{Depth: 1, Name: line, Status: plumbline.Passed})
//			}
//		}
//		return nil
//	}
//
//	func main() {} // never called
//
// A file that cannot be read must not pass: emit an Unknown item with the cause under the meta key
// "error", and continue with the next file. Return an error only if nothing can be done at all, for
// example if options contradict each other. A panic ends the call like an error, and its trace goes
// to the log of the run. Items emitted before stay.
//
// A module has one role. `plumbline plugin build` builds it for the world that module.yaml names.
package plumbline
