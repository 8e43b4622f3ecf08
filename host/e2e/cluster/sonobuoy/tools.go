//go:build tools

// Package tools names Sonobuoy, so that go.mod keeps its version.
package tools

import _ "github.com/vmware-tanzu/sonobuoy"
