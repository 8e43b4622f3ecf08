//go:build wasip1

// Package wit_types has the types of the component model that the generated bindings use and Go
// lacks.
package wit_types

// Tags as they are in memory.
const (
	OptionNone = 0
	OptionSome = 1
	ResultOk   = 0
	ResultErr  = 1
)

// Unit is the type without a value.
type Unit struct{}

// Tuple2 is a pair of values.
type Tuple2[A, B any] struct {
	F0 A
	F1 B
}

// Option is an optional value.
type Option[T any] struct {
	some  bool
	value T
}

// Some returns an option with a value.
func Some[T any](value T) Option[T] { return Option[T]{true, value} }

// None returns an option without a value.
func None[T any]() Option[T] { return Option[T]{} }

// Tag returns which of the two it is.
func (o Option[T]) Tag() uint8 {
	if o.some {
		return OptionSome
	}
	return OptionNone
}

// Some returns the value, or the zero value if there is none.
func (o Option[T]) Some() T { return o.value }

// Result is a value or an error.
type Result[T, E any] struct {
	failed bool
	value  T
	err    E
}

// Ok returns a result with a value.
func Ok[T, E any](value T) Result[T, E] { return Result[T, E]{value: value} }

// Err returns a result with an error.
func Err[T, E any](err E) Result[T, E] { return Result[T, E]{failed: true, err: err} }

// Tag returns which of the two it is.
func (r Result[T, E]) Tag() uint8 {
	if r.failed {
		return ResultErr
	}
	return ResultOk
}

// Ok returns the value, or the zero value for an error.
func (r Result[T, E]) Ok() T { return r.value }

// Err returns the error, or the zero value if there is none.
func (r Result[T, E]) Err() E { return r.err }
