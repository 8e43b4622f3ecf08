//go:build tools

// Package kwok pins the version of kwok that simulates the nodes of a large cluster.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
