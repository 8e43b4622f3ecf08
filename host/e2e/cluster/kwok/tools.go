//go:build tools

// Package kwok names the version of kwok that plays the nodes of a large cluster.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
