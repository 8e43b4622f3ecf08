// Serves the part of systemd-logind that a kubelet uses to notice the shutdown of its node
// (org.freedesktop.login1.Manager). SIGUSR1 announces a shutdown, and SIGUSR2 calls it off.
package main

import (
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

const (
	path    = dbus.ObjectPath("/org/freedesktop/login1")
	manager = "org.freedesktop.login1.Manager"
)

type logind struct{ held []*os.File }

// Inhibit returns the write end of a pipe. The caller delays the shutdown until it closes it.
func (l *logind) Inhibit(what, who, why, mode string) (dbus.UnixFD, *dbus.Error) {
	read, write, err := os.Pipe()
	if err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	// The files stay open until the message is sent and after that: nothing shuts down here.
	l.held = append(l.held, read, write)
	return dbus.UnixFD(write.Fd()), nil
}

func main() {
	bus, err := dbus.ConnectSystemBus()
	check(err)
	check(bus.Export(&logind{}, path, manager))
	// Longer than any kubelet of the cluster asks for, so that none wants to change the setting.
	delay := &prop.Prop{Value: uint64(300_000_000)}
	_, err = prop.Export(bus, path, prop.Map{manager: {"InhibitDelayMaxUSec": delay}})
	check(err)
	_, err = bus.RequestName("org.freedesktop.login1", dbus.NameFlagDoNotQueue)
	check(err)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	for which := range signals {
		check(bus.Emit(path, manager+".PrepareForShutdown", which == syscall.SIGUSR1))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
