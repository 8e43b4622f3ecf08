package plumbline

import (
	"encoding/json"
	"strings"
)

// Status is how an item ended: one of the constants, or a word of the format's own, such as "warning", of at most MaxCustomStatus bytes.
// One custom status anywhere in a plugin's tree makes the host report counts for items with children. The zero value leaves the status to
// the host: rolled up from the children, or Unknown where there are none.
type Status string

const (
	// Passed: it did what it should.
	Passed Status = "passed"
	// Failed: it did not.
	Failed Status = "failed"
	// Skipped: it was not tried.
	Skipped Status = "skipped"
	// Timeout: it did not end in time.
	Timeout Status = "timeout"
	// Unknown: nobody can say.
	Unknown Status = "unknown"
)

const (
	// MaxName is the bytes of a name at most; Emit cuts a longer one.
	MaxName = 64 << 10
	// MaxCustomStatus is the bytes of a custom status at most; Emit cuts a longer one.
	MaxCustomStatus = 256
)

// Meta is short facts, such as "file" (the path of the file that the item stands for), "type" ("file", "node", "summary") and "error"
// (why something could not be read).
type Meta map[string]string

// Details is what a person reads when something went wrong: "failure", "error", "system-out", or keys of the format's own. A string is
// shown as it is; anything else becomes a structure, encoded with encoding/json.
type Details map[string]any

// Item is one entry of the result tree. A tree is a list of items in pre-order: Depth 0 is a root of the result set; an item is the
// child of the nearest earlier item that is one level up. The first item has depth 0, and a depth is at most one more than the depth
// before it. The name must not be empty. Text that is not UTF-8 is repaired.
type Item struct {
	Depth   int
	Name    string
	Status  Status
	Meta    Meta
	Details Details
}

// bytes are those of all texts, as far as they are known before encoding.
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
			// Encoded later; a guess is enough for the size of a batch.
			sum += 256
		}
	}
	return sum
}

// clean is text that the contract takes: UTF-8, of at most max bytes where max is not 0.
func clean(text string, max int) string {
	if max > 0 && len(text) > max {
		text = text[:max]
		// Not in the middle of a character, which would look damaged.
		for cut := 0; cut < 3 && len(text) > 0 && !validEnd(text); cut++ {
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
