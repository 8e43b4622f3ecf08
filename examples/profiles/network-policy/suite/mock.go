package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mattfenwick/cyclonus/pkg/kube"
)

// mock is a cluster that enforces no policy. In it, all probes succeed, or none runs.
type mock struct {
	*kube.MockKubernetes
	fails bool
}

func (m *mock) ExecuteRemoteCommand(_, _, _ string, command []string) (string, string, error, error) {
	if m.fails {
		return "", "", errors.New("simulated failure"), nil
	}
	var out strings.Builder
	for i := range command[5:] {
		fmt.Fprintf(&out, "%d 0 \n", i)
	}
	return out.String(), "", nil, nil
}
