//go:build wasip1

// Package wit_types has the types of the component model that Go lacks: what the generated bindings name, and no more.
package wit_types

// Tags, as they stand in memory.
const (
	OptionNone = 0
	OptionSome = 1
	ResultOk   = 0
	ResultErr  = 1
)

// Unit is no value.
type Unit struct{}

// Tuple2 is two values.
type Tuple2[A, B any] struct {
	F0 A
	F1 B
}

// Option is a value, or none.
type Option[T any] struct {
	some  bool
	value T
}

// Some has a value.
func Some[T any](value T) Option[T] { return Option[T]{true, value} }

// None has none.
func None[T any]() Option[T] { return Option[T]{} }

// Tag says which of the two it is.
func (o Option[T]) Tag() uint8 {
	if o.some {
		return OptionSome
	}
	return OptionNone
}

// Some is the value, or the zero value where there is none.
func (o Option[T]) Some() T { return o.value }

// Result is a value, or an error.
type Result[T, E any] struct {
	failed bool
	value  T
	err    E
}

// Ok is a value.
func Ok[T, E any](value T) Result[T, E] { return Result[T, E]{value: value} }

// Err is an error.
func Err[T, E any](err E) Result[T, E] { return Result[T, E]{failed: true, err: err} }

// Tag says which of the two it is.
func (r Result[T, E]) Tag() uint8 {
	if r.failed {
		return ResultErr
	}
	return ResultOk
}

// Ok is the value; the zero value of an error.
func (r Result[T, E]) Ok() T { return r.value }

// Err is the error; the zero value where there is none.
func (r Result[T, E]) Err() E { return r.err }
