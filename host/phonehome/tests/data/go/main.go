// A worker and an aggregator in Go, as strict about their inputs as such programs are. It prints JSON values, one a line.
//
//	put PATH BYTES      sends BYTES bytes, in pieces and without saying how many, to PATH of AGGREGATOR_URL
//	serve               takes requests with SERVER_CERT and SERVER_KEY, of clients that CA_CERT signed
//	serve-one-name      the same with certificates of its own, whose authority and server have one and the same name
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	arguments := os.Args[1:]
	var err error
	switch {
	case len(arguments) == 3 && arguments[0] == "put":
		err = put(arguments[1], arguments[2])
	case len(arguments) == 1 && arguments[0] == "serve":
		err = serveGiven()
	case len(arguments) == 1 && arguments[0] == "serve-one-name":
		err = serveOneName()
	default:
		err = fmt.Errorf("arguments %q are not known", arguments)
	}
	if err != nil {
		log.Fatal("phonehome-peer: ", err)
	}
}

// say prints one value.
func say(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", line)
}

// waitForEnd returns when nobody holds our standard input any more.
func waitForEnd() {
	_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
}

// onlyBlock is the content of the one PEM block in a variable of the environment.
func onlyBlock(variable, kind string) ([]byte, error) {
	block, rest := pem.Decode([]byte(os.Getenv(variable)))
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", variable)
	}
	if block.Type != kind {
		return nil, fmt.Errorf("%s holds a block %q instead of %q", variable, block.Type, kind)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%s holds more than one PEM block", variable)
	}
	return block.Bytes, nil
}

// pair reads a certificate and its key. Keys are read as SEC1 and nothing else.
func pair(certificateVariable, keyVariable string) (tls.Certificate, error) {
	var none tls.Certificate
	leaf, err := onlyBlock(certificateVariable, "CERTIFICATE")
	if err != nil {
		return none, err
	}
	der, err := onlyBlock(keyVariable, "EC PRIVATE KEY")
	if err != nil {
		return none, err
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return none, err
	}
	// The library's own way must come to the same key.
	both, err := tls.X509KeyPair([]byte(os.Getenv(certificateVariable)), []byte(os.Getenv(keyVariable)))
	if err != nil {
		return none, err
	}
	if !key.Equal(both.PrivateKey) {
		return none, fmt.Errorf("%s reads as two different keys", keyVariable)
	}
	return tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: key}, nil
}

// authority is a pool with the one certificate in CA_CERT.
func authority() (*x509.CertPool, error) {
	der, err := onlyBlock("CA_CERT", "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return pool, nil
}
