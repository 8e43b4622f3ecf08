//go:build wasip1 && !plumbline_expectations_module && !plumbline_summarizer_module && !plumbline_check_module

package plumbline

import (
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_input"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

// filesOf converts the host's files to files that a module reads.
func filesOf(given []*plumbline_plugin_input.File) []*File {
	files := make([]*File, len(given))
	for index, file := range given {
		files[index] = NewFile(file.Path(), file.Size(), func(max uint32) ([]byte, error) {
			return taken(uintptr(max), func() witTypes.Result[[]byte, string] { return file.Read(max) })
		})
	}
	return files
}

func dropFiles(given []*plumbline_plugin_input.File) {
	for _, file := range given {
		file.Drop()
	}
}
