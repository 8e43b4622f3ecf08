// Program csi-driver is a CSI driver whose volumes are directories. It exists for tests of the CSI
// suite: it passes the suite, and with -fault it breaks one rule.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

func main() {
	endpoint := flag.String("endpoint", "", "socket to listen on, such as unix:///run/csi.sock")
	dir := flag.String("dir", "", "directory for volumes")
	fault := flag.String("fault", "", "rule to break: capacity, or nothing")
	flag.Parse()
	if err := run(*endpoint, *dir, *fault); err != nil {
		fmt.Fprintln(os.Stderr, "csi-driver:", err)
		os.Exit(1)
	}
}

func run(endpoint, dir, fault string) error {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok || dir == "" {
		return fmt.Errorf("-endpoint unix://PATH and -dir DIR are required")
	}
	if fault != "" && fault != "capacity" {
		return fmt.Errorf("unknown fault %q", fault)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	driver := newDriver(dir, fault == "capacity")
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, driver)
	csi.RegisterControllerServer(server, driver)
	csi.RegisterNodeServer(server, driver)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		server.Stop()
	}()
	return server.Serve(listener)
}
