package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"strconv"
)

// put sends bytes whose number the library cannot know, so they go out in chunks.
func put(path, bytes string) error {
	count, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil {
		return err
	}
	roots, err := authority()
	if err != nil {
		return err
	}
	certificate, err := pair("CLIENT_CERT", "CLIENT_KEY")
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs:      roots,
		Certificates: []tls.Certificate{certificate},
	}}}
	body := io.LimitReader(zeros{}, count)
	request, err := http.NewRequest(http.MethodPut, os.Getenv("AGGREGATOR_URL")+path, struct{ io.Reader }{body})
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/gzip")
	request.Header.Set("Content-Disposition", "attachment;filename=e2e.tar.gz")
	response, err := client.Do(request)
	if err != nil {
		say(map[string]any{"error": err.Error()})
		return nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	say(map[string]any{"status": response.StatusCode, "body": string(text), "protocol": response.Proto})
	return nil
}

// zeros is a reader that never ends.
type zeros struct{}

func (zeros) Read(buffer []byte) (int, error) {
	clear(buffer)
	return len(buffer), nil
}
