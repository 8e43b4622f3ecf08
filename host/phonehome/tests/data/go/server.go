package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"mime"
	"net"
	"net/http"
	"time"
)

// serveGiven serves with the certificate it is given.
func serveGiven() error {
	clients, err := authority()
	if err != nil {
		return err
	}
	certificate, err := pair("SERVER_CERT", "SERVER_KEY")
	if err != nil {
		return err
	}
	return serve(certificate, clients, map[string]any{})
}

// serveOneName serves with certificates of the simplest kind: the authority, the server and the client all have the same
// name, no certificate says which key signed it, and the client learns its part from what is printed.
func serveOneName() error {
	name := pkix.Name{Organization: []string{"Aggregator"}, Locality: []string{"Here"}}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: name, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, DNSNames: []string{"authority"},
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return err
	}
	leaf := func(serial int64, use x509.ExtKeyUsage, dns []string, ips []net.IP) ([]byte, *ecdsa.PrivateKey, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, err
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: name, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
			BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{use}, DNSNames: dns, IPAddresses: ips,
		}
		der, err := x509.CreateCertificate(rand.Reader, template, root, key.Public(), rootKey)
		return der, key, err
	}
	serverDER, serverKey, err := leaf(2, x509.ExtKeyUsageServerAuth, nil, []net.IP{net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	clientDER, clientKey, err := leaf(3, x509.ExtKeyUsageClientAuth, []string{"e2e"}, nil)
	if err != nil {
		return err
	}
	clientKeyDER, err := x509.MarshalECPrivateKey(clientKey)
	if err != nil {
		return err
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(inPEM("CERTIFICATE", rootDER))
	return serve(tls.Certificate{Certificate: [][]byte{serverDER}, PrivateKey: serverKey}, clients, map[string]any{
		"ca_cert":     string(inPEM("CERTIFICATE", rootDER)),
		"client_cert": string(inPEM("CERTIFICATE", clientDER)),
		"client_key":  string(inPEM("EC PRIVATE KEY", clientKeyDER)),
	})
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// serve says where it listens, and then what each request was. A request to a path that ends in "unexpected" is refused.
func serve(certificate tls.Certificate, clients *x509.CertPool, hello map[string]any) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(handle), TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{certificate},
		ClientCAs:    clients,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	}, ErrorLog: log.New(io.Discard, "", 0)}
	hello["address"] = listener.Addr().String()
	say(hello)
	go func() {
		_ = server.ServeTLS(listener, "", "")
	}()
	waitForEnd()
	return server.Close()
}

func handle(answer http.ResponseWriter, request *http.Request) {
	if len(request.URL.Path) > 10 && request.URL.Path[len(request.URL.Path)-10:] == "unexpected" {
		http.Error(answer, "this result is unexpected", http.StatusForbidden)
		return
	}
	digest := sha256.New()
	count, err := io.Copy(digest, request.Body)
	if err != nil {
		http.Error(answer, err.Error(), http.StatusInternalServerError)
		return
	}
	_, parameters, _ := mime.ParseMediaType(request.Header.Get("Content-Disposition"))
	say(map[string]any{
		"method": request.Method, "path": request.URL.Path, "protocol": request.Proto,
		"type": request.Header.Get("Content-Type"), "filename": parameters["filename"],
		"expect": request.Header.Get("Expect"), "length": request.ContentLength,
		"bytes": count, "sha256": hex.EncodeToString(digest.Sum(nil)),
		"peer": request.TLS.PeerCertificates[0].DNSNames, "resumed": request.TLS.DidResume,
	})
}
