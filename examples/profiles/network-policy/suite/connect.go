package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// connectAll tries connections at the same time, as `agnhost connect` does one at a time. Pods whose
// image has this program need only one process for all of their connections. Each argument is a
// host with a port, a timeout and a protocol. The output is that of [script].
func connectAll(arguments []string, out io.Writer) {
	var group sync.WaitGroup
	var lock sync.Mutex
	for i, argument := range arguments {
		group.Go(func() {
			code, text := 0, ""
			if err := connectOne(strings.Fields(argument)); err != nil {
				code, text = 1, strings.SplitN(err.Error(), "\n", 2)[0]
			}
			lock.Lock()
			defer lock.Unlock()
			fmt.Fprintf(out, "%d %d %s\n", i, code, text)
		})
	}
	group.Wait()
}

// connectOne returns an error with the text of `agnhost connect` if there is no connection.
func connectOne(words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("INVALID: %q", words)
	}
	timeout, err := time.ParseDuration(strings.TrimPrefix(words[1], "--timeout="))
	if err != nil {
		return fmt.Errorf("INVALID: %w", err)
	}
	switch words[2] {
	case "--protocol=tcp":
		return named(tcp(words[0], timeout))
	case "--protocol=udp":
		return named(udp(words[0], timeout))
	default:
		output, err := exec.Command("/agnhost", append([]string{"connect"}, words...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s", output)
		}
		return nil
	}
}

func tcp(address string, timeout time.Duration) error {
	connection, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return err
	}
	return connection.Close()
}

// udp sends a packet, and waits for the answer of the server.
func udp(address string, timeout time.Duration) error {
	connection, err := net.DialTimeout("udp", address, timeout)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := connection.Write([]byte("hostname\n")); err != nil {
		return err
	}
	count, err := connection.Read(make([]byte, 1024))
	if err == nil && count == 0 {
		return errors.New("the answer is empty")
	}
	return err
}

// named puts the kind of an error before its text.
func named(err error) error {
	var dns *net.DNSError
	var network net.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &dns):
		return fmt.Errorf("DNS: %w", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("REFUSED: %w", err)
	case errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("TIMEOUT: %w", err)
	}
	return fmt.Errorf("OTHER: %w", err)
}
