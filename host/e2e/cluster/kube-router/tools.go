//go:build tools

// Package kuberouter pins the version of kube-router, which enforces NetworkPolicies in tests.
package kuberouter

import _ "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"
