package plumbline

const (
	// BatchItems is the items of a batch at most.
	BatchItems = 256
	// BatchBytes is the bytes of a batch's texts after which it is sent; with one item's limit this bounds what a module holds.
	BatchBytes = 1 << 20
)

// Output takes the items in pre-order and hands them to the host in batches, so that neither side ever holds a whole result.
type Output struct {
	batch []Item
	bytes int
	sink  func([]Item)
}

// NewOutput is for harnesses of one's own; package plumblinetest has one ready. The sink must not keep the slice.
func NewOutput(sink func([]Item)) *Output { return &Output{sink: sink} }

// Emit appends an item to the tree. See Item for the rules on depth and name; an item that breaks them, or a limit, ends the call: the
// host keeps what came before and says which rule it was.
func (o *Output) Emit(item Item) {
	item.Name = clean(item.Name, MaxName)
	item.Status = Status(clean(string(item.Status), MaxCustomStatus))
	o.batch = append(o.batch, item)
	o.bytes += item.bytes()
	if len(o.batch) >= BatchItems || o.bytes >= BatchBytes {
		o.Flush()
	}
}

// Flush hands over what has gathered. Happens by itself when a batch is full and at the end of the call.
func (o *Output) Flush() {
	batch := o.batch
	// First, so that a batch that the host refuses is not sent again at the end of the call.
	o.batch, o.bytes = o.batch[:0], 0
	if len(batch) > 0 {
		o.sink(batch)
		clear(batch)
	}
}
