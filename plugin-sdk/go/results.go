package plumbline

import "iter"

// resultsBatch is the entries asked of the host at once.
const resultsBatch = 256

// Entry is an item, and whose it is.
type Entry struct {
	// Set is the node's name, or "global".
	Set string
	// Item has a status in any case: rolled up where there are children. Structures in its Details are json.RawMessage.
	Item Item
}

// Results are the items of all result sets of a plugin, to be read once.
type Results struct {
	next func(max uint32) ([]Entry, error)
}

// NewResults is for harnesses of one's own; package plumblinetest has one ready. next gives at most max entries; none at the end.
func NewResults(next func(max uint32) ([]Entry, error)) *Results { return &Results{next} }

// All are the entries, result set by result set in the lexical order of their names, each in pre-order. A set may come a second time, with
// what the host says of results that are missing. The last pair has an error when the rest could not be read.
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
