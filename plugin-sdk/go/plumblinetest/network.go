package plumblinetest

import (
	"fmt"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// result is what a host returns: a value or an error.
type result[T any] struct {
	value T
	err   error
}

// Response grants a request to a check, and sets its result: a response, or a
// *plumbline.NetworkError. Every other request is denied.
func (c *Case) Response(method, url string, response plumbline.Response, err error) *Case {
	c.granted.responses[[2]string{method, url}] = result[plumbline.Response]{response, err}
	return c
}

// Name grants a name to a check, and sets its result: addresses, or a *plumbline.NetworkError.
// Every other name is denied.
func (c *Case) Name(name string, addresses []string, err error) *Case {
	c.granted.names[name] = result[[]string]{addresses, err}
	return c
}

// Connection grants a connection attempt to a check, and sets its result. Every other one is
// denied.
func (c *Case) Connection(host string, port uint16, connection plumbline.Connection) *Case {
	c.granted.connections[plumbline.Target{Host: host, Port: port}] = connection
	return c
}

// Attributes sets the owner and the mode of a file or directory. Those of all others belong to
// root, with the permissions 0o644 or 0o755.
func (c *Case) Attributes(path string, attributes plumbline.Attributes) *Case {
	c.granted.attributes[path] = attributes
	return c
}

func (f *fake) Send(request plumbline.Request) (plumbline.Response, error) {
	found, ok := f.responses[[2]string{request.Method, request.URL}]
	if !ok {
		return plumbline.Response{}, denied(request.Method+" "+request.URL, "Response")
	}
	return found.value, found.err
}

func (f *fake) Resolve(name string) ([]string, error) {
	found, ok := f.names[name]
	if !ok {
		return nil, denied(name, "Name")
	}
	return found.value, found.err
}

func (f *fake) Connect(targets []plumbline.Target, _ plumbline.Attempts) []plumbline.Connection {
	results := make([]plumbline.Connection, len(targets))
	for index, target := range targets {
		found, ok := f.connections[target]
		if !ok {
			found.Err = denied(fmt.Sprintf("%s:%d", target.Host, target.Port), "Connection")
		}
		results[index] = found
	}
	return results
}

func (f *fake) Attributes(path string) (plumbline.Attributes, error) {
	if found, ok := f.attributes[path]; ok {
		return found, nil
	}
	info, err := f.Stat(path)
	if err != nil {
		return plumbline.Attributes{}, err
	}
	if info.IsDir() {
		return plumbline.Attributes{Mode: 0o040755}, nil
	}
	return plumbline.Attributes{Mode: 0o100644}, nil
}

func denied(what, method string) error {
	cause := fmt.Sprintf("the case does not grant `%s`: add it with `Case.%s`", what, method)
	return &plumbline.NetworkError{Kind: plumbline.NetworkDenied, Cause: cause}
}
