// Package ext has the extensions of Traefik's dynamic configuration. There are none.
package ext

// HTTP extends the configuration of HTTP.
type HTTP struct{}

// Router extends the configuration of a router.
type Router struct{}
