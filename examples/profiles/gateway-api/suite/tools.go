//go:build tools

package suite

// The server that the tests send requests to. Its image is built from the same module.
import _ "sigs.k8s.io/gateway-api/conformance/echo-basic"
