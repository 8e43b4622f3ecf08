package plumbline

import (
	"encoding/json"
	"iter"
)

// ObjectQuery selects objects of the cluster.
type ObjectQuery struct {
	// APIVersion is the API group and version, such as "v1" or "apps/v1".
	APIVersion string
	// Resource is the plural name of the resource, such as "nodes".
	Resource string
	// Namespace is empty for all namespaces, and for objects outside namespaces.
	Namespace string
	// Labels is a label selector, such as "app=web". If it is empty, all objects.
	Labels string
	// Fields is a field selector, such as "spec.nodeName=node-1". If it is empty, all objects.
	Fields string
}

// ClusterHost is the part of a host that reads objects of the cluster.
type ClusterHost interface {
	// List returns a function for the next objects, which returns none at the end, and a function
	// that ends the list.
	List(query ObjectQuery) (next func() ([]json.RawMessage, error), stop func(), err error)
	// Get returns an object, or nil if it does not exist.
	Get(query ObjectQuery, name string) (json.RawMessage, error)
}

// Objects iterates over objects of the cluster, each a JSON document. The host reads one page at a
// time. If the rest cannot be read, the last pair has an error, which names a missing grant.
func (c *Context) Objects(query ObjectQuery) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		next, stop, err := c.host.List(query)
		if err != nil {
			yield(nil, err)
			return
		}
		defer stop()
		for {
			batch, err := next()
			if err != nil {
				yield(nil, err)
				return
			}
			for _, object := range batch {
				if !yield(object, nil) {
					return
				}
			}
			if len(batch) == 0 {
				return
			}
		}
	}
}

// Object returns an object of the cluster as a JSON document, or nil if it does not exist. The
// selectors of the query are not used.
func (c *Context) Object(query ObjectQuery, name string) (json.RawMessage, error) {
	return c.host.Get(query, name)
}
