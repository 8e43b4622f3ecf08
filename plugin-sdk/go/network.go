package plumbline

import (
	"errors"
	"math"
	"slices"
	"time"
)

// NetworkErrorKind says why a request, a resolution or a connection attempt failed.
type NetworkErrorKind string

const (
	// NetworkDenied means that the definition does not grant it, or that an argument is invalid.
	NetworkDenied NetworkErrorKind = "denied"
	// NetworkNotFound means that the name does not exist, or has no address.
	NetworkNotFound NetworkErrorKind = "not-found"
	// NetworkRefused means that the target refused or reset the connection.
	NetworkRefused NetworkErrorKind = "refused"
	// NetworkTimeout means that the time limit was exceeded.
	NetworkTimeout NetworkErrorKind = "timeout"
	// NetworkTLS means that the TLS handshake failed: an invalid certificate, or no TLS at all.
	NetworkTLS NetworkErrorKind = "tls"
	// NetworkOther is another cause.
	NetworkOther NetworkErrorKind = "other"
)

// NetworkError is the error of Context.Send, Context.Resolve and Context.Connect.
type NetworkError struct {
	Kind NetworkErrorKind
	// Cause is one sentence of the host.
	Cause string
}

// Error returns the cause.
func (e *NetworkError) Error() string { return e.Cause }

// IsOfTarget reports whether an error says something about the target. After any other error, a
// check knows nothing about it, so the status of its item is Unknown and not Failed.
func IsOfTarget(err error) bool {
	var failure *NetworkError
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Kind {
	case NetworkNotFound, NetworkRefused, NetworkTimeout, NetworkTLS:
		return true
	default:
		return false
	}
}

// Trust says which certificates of a server are accepted. The zero value is TrustSystem.
type Trust struct {
	any bool
	// certificates are CAs in PEM form, or nil.
	certificates *string
}

var (
	// TrustSystem accepts those of the CAs of the system on which the check runs.
	TrustSystem = Trust{}
	// TrustAny accepts all. Such a request proves nothing about the identity of the server.
	TrustAny = Trust{any: true}
)

// TrustCertificates accepts those of these CAs: certificates in PEM form.
func TrustCertificates(pem string) Trust { return Trust{certificates: &pem} }

// Header is a header field of a request or a response.
type Header struct{ Name, Value string }

// Request is an HTTP request.
type Request struct {
	// Method is "GET" if it is empty.
	Method string
	// URL is the URL: http or https, without a user.
	URL     string
	Headers []Header
	// Body has at most 1 MiB.
	Body []byte
	// Trust says which certificates are accepted, if the URL is https.
	Trust Trust
	// Timeout is the time limit for everything: at most 5 min. Zero stands for 10 s.
	Timeout time.Duration
}

// Response is an HTTP response.
type Response struct {
	// Status is the status code. The host does not follow redirects.
	Status int
	// Headers are the header fields, with names in lower case.
	Headers []Header
	// Body has at most 16 MiB. A longer one is an error.
	Body []byte
	// Certificate is that of the server in DER form, or nil if the URL is not https.
	Certificate []byte
	// Address is the address and port of the server.
	Address string
}

// Header returns the first value of a header field, whose name is in lower case. It is empty if
// the response has no such field.
func (r Response) Header(name string) string {
	for _, header := range r.Headers {
		if header.Name == name {
			return header.Value
		}
	}
	return ""
}

// Target is a host and port to which a check tries to connect.
type Target struct {
	// Host is a name, or an address without brackets.
	Host string
	Port uint16
}

// Attempts are the time limits of connection attempts.
type Attempts struct {
	// Timeout is the time of one attempt: at most 60 s. Zero stands for 5 s.
	Timeout time.Duration
	// Wait is how long failed attempts are repeated, about once a second. Zero stands for one
	// attempt.
	Wait time.Duration
}

// Connection is the result of a connection attempt.
type Connection struct {
	// Address is the address and port of an open connection.
	Address string
	// Took is the time from the start of the attempt until the connection was open.
	Took time.Duration
	// Err is the error, or nil if the connection was open.
	Err error
}

// NetworkHost is the part of a host that reaches other hosts. Its errors are of type NetworkError.
type NetworkHost interface {
	Send(request Request) (Response, error)
	Resolve(name string) ([]string, error)
	// Connect tries at most MaxTargets connections.
	Connect(targets []Target, attempts Attempts) []Connection
}

// MaxTargets is the most targets that a host takes at once.
const MaxTargets = 1024

// Send sends an HTTP request and returns the response, whatever its status is. The error is a
// NetworkError: the definition does not grant the web server, or the response is incomplete.
func (c *Context) Send(request Request) (Response, error) {
	if request.Method == "" {
		request.Method = "GET"
	}
	return c.host.Send(request)
}

// Resolve returns the addresses of a name, by the resolver of the machine or pod. The error is a
// NetworkError: the definition does not grant the name, or it has no address.
func (c *Context) Resolve(name string) ([]string, error) { return c.host.Resolve(name) }

// Connect tries to open a TCP connection to each target, many at the same time, and closes it. It
// returns one result for each target, in the same order.
func (c *Context) Connect(targets []Target, attempts Attempts) []Connection {
	results := make([]Connection, 0, len(targets))
	for chunk := range slices.Chunk(targets, MaxTargets) {
		results = append(results, c.host.Connect(chunk, attempts)...)
	}
	return results
}

// milliseconds rounds a time up, so that a short one does not become the default of the host.
func milliseconds(limit time.Duration) uint32 {
	const unit = time.Millisecond
	if limit <= 0 {
		return 0
	}
	return uint32(min(int64((limit-1)/unit)+1, math.MaxUint32))
}
