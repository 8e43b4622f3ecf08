//go:build wasip1

// Package wit_runtime is the runtime of the generated bindings: handles of resources, and memory
// for the host to fill.
package wit_runtime

// Handle is the number of a host resource, or 0 after its ownership was transferred.
type Handle struct{ number int32 }

// MakeHandle returns a handle that owns the number.
func MakeHandle(number int32) *Handle { return &Handle{number} }

// Use returns the number for a call that borrows the resource.
func (h *Handle) Use() int32 {
	if h.number == 0 {
		panic("a resource of the host is used after it was dropped")
	}
	return h.number
}

// Take returns the number and transfers its ownership to the caller.
func (h *Handle) Take() int32 {
	number := h.Use()
	h.number = 0
	return number
}

// TakeOrNil is like Take, but returns 0 if there is no number.
func (h *Handle) TakeOrNil() int32 {
	number := h.number
	h.number = 0
	return number
}

// Set stores a number in an empty handle.
func (h *Handle) Set(number int32) { h.number = number }
