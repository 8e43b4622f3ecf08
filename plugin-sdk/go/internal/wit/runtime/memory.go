//go:build wasip1

package wit_runtime

import (
	"runtime"
	"unsafe"
)

// block has the strictest alignment that the canonical ABI knows.
type block [8]byte

// Allocate is memory that stays where it is, and stays, until the pinner lets go of it. No memory is a nil pointer.
func Allocate(pinner *runtime.Pinner, size, align uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	var memory unsafe.Pointer
	if align == 1 {
		memory = unsafe.Pointer(unsafe.SliceData(make([]byte, size)))
	} else {
		// Words, because Go aligns a slice as its elements are.
		memory = unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+unsafe.Sizeof(block{})-1)/unsafe.Sizeof(block{}))))
	}
	pinner.Pin(memory)
	return memory
}

// given is what the host was given to write into, and Go code has not taken over yet.
var given runtime.Pinner

// Unpin lets go of what the host wrote: whoever still needs it has pointers to it by now. Called after each call of which something
// came back, because a pinned buffer for each piece of a long file would add up to the file.
func Unpin() { given.Unpin() }

// started is set when Go can allocate.
var started bool

func init() { started = true }

// early is for the WASI adapter, which asks for its state (one page) while Go is starting; bss, so it costs no bytes in the file.
var (
	early     [2 * 65536]byte
	earlyUsed uintptr
)

// realloc is where the host gets memory for what it returns.
//
//go:wasmexport cabi_realloc
func realloc(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	if started {
		memory := Allocate(&given, size, align)
		if oldSize > 0 {
			copy(unsafe.Slice((*byte)(memory), size), unsafe.Slice((*byte)(old), oldSize))
		}
		return memory
	}
	start := (uintptr(unsafe.Pointer(&early)) + earlyUsed + align - 1) &^ (align - 1)
	earlyUsed = start + size - uintptr(unsafe.Pointer(&early))
	if earlyUsed > uintptr(len(early)) {
		// A panic needs a runtime. The host says that the module trapped.
		return nil
	}
	return unsafe.Pointer(start)
}
