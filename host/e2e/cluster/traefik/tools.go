//go:build tools

// Package traefik pins the version of Traefik that the suite of the Gateway API tests.
package traefik

import _ "github.com/traefik/traefik/v3/cmd/traefik"
