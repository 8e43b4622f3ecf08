package plumbline

const (
	// BatchItems is the most items in a batch.
	BatchItems = 256
	// BatchBytes is the size of texts after which a batch is sent. With the limit of one item, it
	// bounds the memory of a module.
	BatchBytes = 1 << 20
)

// Output receives items in pre-order and sends them to the host in batches, so that neither side
// holds a whole result.
type Output struct {
	batch []Item
	bytes int
	sink  func([]Item)
}

// NewOutput returns an output for a test harness, such as package plumblinetest. The sink must not
// keep the slice.
func NewOutput(sink func([]Item)) *Output { return &Output{sink: sink} }

// Emit appends an item to the tree. Item has the rules on depth and name. An item that breaks them,
// or a limit, ends the call. The host keeps the items before it and reports the rule.
func (o *Output) Emit(item Item) {
	item.Name = clean(item.Name, MaxName)
	item.Status = Status(clean(string(item.Status), MaxCustomStatus))
	o.batch = append(o.batch, item)
	o.bytes += item.bytes()
	if len(o.batch) >= BatchItems || o.bytes >= BatchBytes {
		o.Flush()
	}
}

// Flush sends the pending items. The SDK does this when a batch is full and at the end of the call.
func (o *Output) Flush() {
	batch := o.batch
	// Clear the batch first, so that one that the host rejects is not sent again at the end of the
	// call.
	o.batch, o.bytes = o.batch[:0], 0
	if len(batch) > 0 {
		o.sink(batch)
		clear(batch)
	}
}
