//go:build wasip1

package wit_runtime

import (
	"runtime"
	"unsafe"
)

// block has the strictest alignment of the canonical ABI.
type block [8]byte

// Allocate returns memory that neither moves nor is freed until the pinner releases it. For size 0
// it returns a nil pointer.
func Allocate(pinner *runtime.Pinner, size, align uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	var memory unsafe.Pointer
	if align == 1 {
		memory = unsafe.Pointer(unsafe.SliceData(make([]byte, size)))
	} else {
		// Use words, because Go aligns a slice like its elements.
		memory = unsafe.Pointer(unsafe.SliceData(make([]uint64, (size+unsafe.Sizeof(block{})-1)/unsafe.Sizeof(block{}))))
	}
	pinner.Pin(memory)
	return memory
}

// The host writes data into memory that it requests with realloc. Meanwhile, a module must not call
// the host, or the host ends the call. Go's allocator could do so, because its garbage collector
// asks WASI for the time. So nothing is allocated then: memory is lent beforehand, and realloc only
// returns pieces of it.
var (
	// lent is the rest of the lent memory. whole keeps all of it alive until it is replaced.
	lent, whole []byte
	// given contains memory that had to be allocated anyway.
	given runtime.Pinner
	// started is set when Go can allocate.
	started bool
	// early is for the WASI adapter, which requests its state (one page) while Go starts. It is in
	// bss and adds nothing to the file.
	early [2 * 65536]byte
)

func init() { started = true }

// Lend provides so many bytes for the outcome of the next call of the host.
func Lend(size uintptr) {
	whole = make([]byte, size)
	lent = whole
}

// Unpin releases what the host wrote. Code that still needs it has pointers to it. The bindings
// call it after each call with an outcome, because otherwise the buffers of a long file would add
// up to the whole file.
func Unpin() { given.Unpin() }

// realloc returns memory for data of the host.
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
		// A panic needs a runtime. The host reports a trap of the module.
		return nil
	}
	// More than was lent, for example the arguments of a call with thousands of nodes.
	memory := Allocate(&given, size, align)
	if oldSize > 0 {
		copy(unsafe.Slice((*byte)(memory), size), unsafe.Slice((*byte)(old), oldSize))
	}
	return memory
}
