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

// The host puts what it hands over into memory that it asks for with realloc, and meanwhile a module must not call the host: the host ends
// the call for it. Go's allocator may do so, because its collector asks WASI for the time. So nothing is allocated then: the memory is lent
// beforehand, and realloc only cuts pieces off it.
var (
	// lent is what is left of it; whole keeps all of it alive until there is other.
	lent, whole []byte
	// given holds what had to be allocated all the same.
	given runtime.Pinner
	// started is set when Go can allocate.
	started bool
	// early is for the WASI adapter, which asks for its state (one page) while Go is starting; bss, so it costs no bytes in the file.
	early [2 * 65536]byte
)

func init() { started = true }

// Lend makes so many bytes ready for what the next call of the host gives back.
func Lend(size uintptr) {
	whole = make([]byte, size)
	lent = whole
}

// Unpin lets go of what the host wrote: whoever still needs it has pointers to it by now. Called after each call of which something
// came back, because a buffer for each piece of a long file would add up to the file.
func Unpin() { given.Unpin() }

// realloc is where the host gets memory for what it hands over.
//
//go:wasmexport cabi_realloc
func realloc(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	if !started && whole == nil {
		whole = early[:]
		lent = whole
	}
	if oldSize == 0 {
		skip := -uintptr(unsafe.Pointer(unsafe.SliceData(lent))) & (align - 1)
		if skip+size <= uintptr(len(lent)) {
			memory := unsafe.Pointer(unsafe.SliceData(lent[skip:]))
			lent = lent[skip+size:]
			return memory
		}
	}
	if !started {
		// A panic needs a runtime. The host says that the module trapped.
		return nil
	}
	// More than anybody expected: the arguments of a call with thousands of nodes, before anything was collected.
	memory := Allocate(&given, size, align)
	if oldSize > 0 {
		copy(unsafe.Slice((*byte)(memory), size), unsafe.Slice((*byte)(old), oldSize))
	}
	return memory
}
