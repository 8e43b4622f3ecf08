// Package plumbline is for writing Plumbline modules in Go.
//
// A module says what the results of a plugin mean: a post-processor turns files into a tree of items, an expectation says who must
// answer, a summarizer says what all results come to, a judge says what of them counts. It runs in a sandbox, as a WebAssembly component, and sees nothing but its
// arguments. An author writes one function, registers it in init, and tests it with `go test` like any other code:
//
//	func init() { plumbline.PostProcessor(process) }
//
//	func process(plugin plumbline.Plugin, files []*plumbline.File, out *plumbline.Output) error {
//		for _, file := range files {
//			// No status: the host rolls it up from the items below.
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
// A file that cannot be read is no reason to stop, and must not pass: emit an item Unknown with the cause under the meta key "error", and
// go on. An error that the function returns says that nothing can be done at all, such as options that make no sense. A panic ends the
// call like an error, and its trace goes to the run's log; what was emitted before stays.
//
// One module plays one role. `plumbline plugin build` builds it for the world that module.yaml names.
package plumbline
