package plumbline

import (
	"encoding/json"
	"strings"
)

// Status is the outcome of an item: one of the constants, or a word of the format's own, such as
// "warning", of at most MaxCustomStatus bytes. If a custom status occurs anywhere in a plugin's
// tree, the host reports counts for items with children. With the zero value, the host rolls the
// status up from the children, or sets Unknown if there are none.
type Status string

const (
	// Passed means that the check succeeded.
	Passed Status = "passed"
	// Failed means that the check failed.
	Failed Status = "failed"
	// Skipped means that the check did not run.
	Skipped Status = "skipped"
	// Timeout means that the check did not end in time.
	Timeout Status = "timeout"
	// Unknown means that the outcome is not known.
	Unknown Status = "unknown"
)

const (
	// MaxName is the most bytes of a name. Emit cuts a longer one.
	MaxName = 64 << 10
	// MaxCustomStatus is the most bytes of a custom status. Emit cuts a longer one.
	MaxCustomStatus = 256
)

// Meta contains short facts, such as "file" (the path of the file that the item describes), "type"
// ("file", "node", "summary") and "error" (why something could not be read).
type Meta map[string]string

// Details contains what a person reads when something went wrong: "failure", "error", "system-out",
// or keys of the format's own. A string is shown unchanged. Any other value becomes a structure,
// encoded with encoding/json.
type Details map[string]any

// Item is one entry of the result tree. A tree is a list of items in pre-order. An item with Depth
// 0 is a root of the result set. Any other item is a child of the nearest earlier item that is one
// level up. The first item has depth 0, and a depth is at most one more than the depth before it.
// The name must not be empty. Invalid UTF-8 is repaired.
type Item struct {
	Depth   int
	Name    string
	Status  Status
	Meta    Meta
	Details Details
}

// bytes returns the size of all texts, as far as it is known before encoding.
func (i *Item) bytes() int {
	sum := len(i.Name) + len(i.Status)
	for key, value := range i.Meta {
		sum += len(key) + len(value)
	}
	for key, value := range i.Details {
		sum += len(key)
		switch value := value.(type) {
		case string:
			sum += len(value)
		case json.RawMessage:
			sum += len(value)
		default:
			// This is encoded later. A guess is enough for the size of a batch.
			sum += 256
		}
	}
	return sum
}

// clean returns text that the contract accepts: UTF-8, of at most max bytes unless max is 0.
func clean(text string, max int) string {
	if max > 0 && len(text) > max {
		text = text[:max]
		// Do not cut within a character, which would look damaged.
		for cut := 0; cut < 3 && len(text) > 0 && !validEnd(text); cut++ {
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
