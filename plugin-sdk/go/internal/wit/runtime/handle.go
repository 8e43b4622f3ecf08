//go:build wasip1

// Package wit_runtime is what the generated bindings need of a runtime: handles of resources, and memory that the host may fill.
package wit_runtime

// Handle is the number of a resource of the host; 0 when it was given away.
type Handle struct{ number int32 }

// MakeHandle takes the number over.
func MakeHandle(number int32) *Handle { return &Handle{number} }

// Use is the number, for a call that borrows the resource.
func (h *Handle) Use() int32 {
	if h.number == 0 {
		panic("a resource of the host is used after it was dropped")
	}
	return h.number
}

// Take is the number, which is the caller's from here on.
func (h *Handle) Take() int32 {
	number := h.Use()
	h.number = 0
	return number
}

// TakeOrNil is like Take; 0 when there is nothing to take.
func (h *Handle) TakeOrNil() int32 {
	number := h.number
	h.number = 0
	return number
}

// Set puts a number into a handle that was given away.
func (h *Handle) Set(number int32) { h.number = number }
