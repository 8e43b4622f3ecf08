package plumbline

import "iter"

// resultsBatch is how many entries are requested from the host at once.
const resultsBatch = 256

// Entry is an item with its result set.
type Entry struct {
	// Set is the name of the node, or "global".
	Set string
	// Item always has a status, rolled up if it has children. Structures in its Details are
	// json.RawMessage.
	Item Item
}

// Results contains the items of all result sets of a plugin. It can be read once.
type Results struct {
	next func(max uint32) ([]Entry, error)
}

// NewResults returns results for a test harness, such as package plumblinetest. next returns at
// most max entries, and none at the end.
func NewResults(next func(max uint32) ([]Entry, error)) *Results { return &Results{next} }

// All iterates over the entries: result set by result set in the lexical order of their names, each
// in pre-order. A set can come a second time, with the host's items about missing results. If the
// rest cannot be read, the last pair has an error.
func (r *Results) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for {
			batch, err := r.next(resultsBatch)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, entry := range batch {
				if !yield(entry, nil) {
					return
				}
			}
			if len(batch) == 0 {
				return
			}
		}
	}
}
