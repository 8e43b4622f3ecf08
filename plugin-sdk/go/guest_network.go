//go:build wasip1 && plumbline_check_module

package plumbline

import (
	"io/fs"
	"path"
	"time"

	contract "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_network"
	"github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/contract/plumbline_plugin_ownership"
	witTypes "github.com/plumbline-dev/plumbline/plugin-sdk/go/internal/wit/types"
)

func (sandbox) Send(request Request) (response Response, err error) {
	lowered := contract.Request{
		Method: clean(request.Method, 0), Url: clean(request.URL, 0), Body: request.Body,
		Trust: lowerTrust(request.Trust), TimeoutMs: milliseconds(request.Timeout),
	}
	for _, header := range request.Headers {
		field := witTypes.Tuple2[string, string]{F0: clean(header.Name, 0), F1: clean(header.Value, 0)}
		lowered.Headers = append(lowered.Headers, field)
	}
	result := called(0, func() witTypes.Result[contract.Response, contract.Failure] { return contract.Send(lowered) })
	if result.Tag() == witTypes.ResultErr {
		return response, liftFailure(result.Err())
	}
	found := result.Ok()
	response = Response{Status: int(found.Status), Body: found.Body, Address: found.Address}
	for _, header := range found.Headers {
		response.Headers = append(response.Headers, Header{header.F0, header.F1})
	}
	if found.Certificate.Tag() == witTypes.OptionSome {
		response.Certificate = found.Certificate.Some()
	}
	return response, nil
}

func (sandbox) Resolve(name string) ([]string, error) {
	name = clean(name, 0)
	result := called(0, func() witTypes.Result[[]string, contract.Failure] { return contract.Resolve(name) })
	if result.Tag() == witTypes.ResultErr {
		return nil, liftFailure(result.Err())
	}
	return result.Ok(), nil
}

func (sandbox) Connect(targets []Target, attempts Attempts) []Connection {
	lowered := make([]contract.Target, len(targets))
	for index, target := range targets {
		lowered[index] = contract.Target{Host: clean(target.Host, 0), Port: target.Port}
	}
	found := called(uintptr(len(targets))*256, func() []witTypes.Result[contract.Connection, contract.Failure] {
		return contract.Connect(lowered, milliseconds(attempts.Timeout), milliseconds(attempts.Wait))
	})
	results := make([]Connection, len(found))
	for index, result := range found {
		if result.Tag() == witTypes.ResultErr {
			results[index].Err = liftFailure(result.Err())
			continue
		}
		open := result.Ok()
		results[index] = Connection{Address: open.Address, Took: time.Duration(open.Microseconds) * time.Microsecond}
	}
	return results
}

func (s sandbox) Attributes(name string) (Attributes, error) {
	if _, _, ok := s.locate(name); !ok {
		return Attributes{}, ErrNotGranted
	}
	name = clean(path.Clean(name), 0)
	found, err := taken(0, func() witTypes.Result[witTypes.Option[plumbline_plugin_ownership.Attributes], string] {
		return plumbline_plugin_ownership.Read(name)
	})
	if err != nil {
		return Attributes{}, err
	}
	if found.Tag() != witTypes.OptionSome {
		return Attributes{}, fs.ErrNotExist
	}
	about := found.Some()
	return Attributes{Mode: about.Mode, UID: about.Uid, GID: about.Gid}, nil
}

func lowerTrust(trust Trust) contract.Trust {
	switch {
	case trust.certificates != nil:
		return contract.MakeTrustCertificates(clean(*trust.certificates, 0))
	case trust.any:
		return contract.MakeTrustAny()
	default:
		return contract.MakeTrustSystem()
	}
}

func liftFailure(failure contract.Failure) error {
	switch failure.Tag() {
	case contract.FailureDenied:
		return &NetworkError{NetworkDenied, failure.Denied()}
	case contract.FailureNotFound:
		return &NetworkError{NetworkNotFound, failure.NotFound()}
	case contract.FailureRefused:
		return &NetworkError{NetworkRefused, failure.Refused()}
	case contract.FailureTimeout:
		return &NetworkError{NetworkTimeout, failure.Timeout()}
	case contract.FailureTls:
		return &NetworkError{NetworkTLS, failure.Tls()}
	default:
		return &NetworkError{NetworkOther, failure.Other()}
	}
}
