//go:build tools

// Package tools imports Sonobuoy, so that go.mod pins its version.
package tools

import _ "github.com/vmware-tanzu/sonobuoy"
