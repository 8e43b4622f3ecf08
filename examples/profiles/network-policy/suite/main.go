// Command network-policy runs the test cases of Cyclonus against a cluster, and writes each one as
// a Plumbline item.
//
// The test cases, and the rules that say which connections a policy allows, are those of Cyclonus.
// This program differs from the program `cyclonus` in what it does around them:
//
//   - A probe that did not run is an error. `cyclonus` counts every failed command as a blocked
//     connection.
//   - Before the first policy, all connections must work.
//   - A test whose port or protocol no pod serves is skipped. `cyclonus` compares nothing, and passes.
//   - A failed test has the connections that were wrong. Test names are unique.
//   - Namespaces that exist are left alone.
//   - All connections of a pod are tried by one command.
//   - The exit code is not 0 if a test failed or nothing ran.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/mattfenwick/cyclonus/pkg/generator"
	"github.com/sirupsen/logrus"
)

// Variables select tests. Plumbline changes them to run failed tests again.
const (
	tagsVariable    = "NETWORK_POLICY_TAGS"
	excludeVariable = "NETWORK_POLICY_EXCLUDE_TAGS"
	testsVariable   = "NETWORK_POLICY_TESTS"
	focusVariable   = "NETWORK_POLICY_FOCUS"
	skipVariable    = "NETWORK_POLICY_SKIP"
)

// The exit codes. A panic of Cyclonus ends the program with 2, and a fatal error of Cyclonus with 1.
const (
	exitFailed = 1
	exitUsage  = 64
	exitError  = 70
)

// Options are the settings of a run.
type Options struct {
	context, image, target, family string
	results                        string
	include, exclude, names        []string
	focus, skip                    *regexp.Regexp
	ports                          []int
	protocols                      []string
	wait, timeout, podTimeout      time.Duration
	retries                        int
	allowDNS, loopback, failFast   bool
	keep, list                     bool
	mock                           string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "connect" {
		connectAll(os.Args[2:], os.Stdout)
		return
	}
	options, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "network-policy: %v\n", err)
		os.Exit(exitUsage)
	}
	if options.list {
		for _, test := range allTests(options) {
			fmt.Println(test.name)
		}
		return
	}
	os.Exit(run(options))
}

func parse(args []string) (*Options, error) {
	o := &Options{}
	flags := flag.NewFlagSet("network-policy", flag.ContinueOnError)
	list := func(name, initial, help string) *string {
		return flags.String(name, initial, help+", separated by commas")
	}
	flags.StringVar(&o.results, "results", "", "file to write items to")
	flags.StringVar(&o.context, "context", "", "context of the kubeconfig; the default is the current one, or the cluster of this pod")
	flags.StringVar(&o.image, "probe-image", "", "image of the pods, which has /agnhost; the default is that of Cyclonus")
	flags.StringVar(&o.target, "target", "service-ip", "what connections go to: service-ip, service-name or pod-ip")
	flags.StringVar(&o.family, "ip-family", "", "IP family of the connections: ipv4 or ipv6; the default is the first one of the cluster")
	include := list("include", os.Getenv(tagsVariable), "run tests with one of these tags")
	exclude := list("exclude", os.Getenv(excludeVariable), "skip tests with one of these tags")
	names := flags.String("tests", os.Getenv(testsVariable), "run tests with these names, separated by semicolons")
	focus := flags.String("focus", os.Getenv(focusVariable), "run tests whose names match this regular expression")
	skip := flags.String("skip", os.Getenv(skipVariable), "skip tests whose names match this regular expression")
	ports := list("ports", "80,81", "ports that the pods serve")
	protocols := list("protocols", "TCP,UDP", "protocols that the pods serve: TCP, UDP, SCTP")
	flags.DurationVar(&o.wait, "wait", 5*time.Second, "time that the cluster has to enforce a change")
	flags.DurationVar(&o.timeout, "timeout", time.Second, "time after which a connection is blocked, in whole seconds")
	flags.DurationVar(&o.podTimeout, "pod-timeout", 2*time.Minute, "time that the pods have to start")
	flags.IntVar(&o.retries, "retries", 1, "how often a connection with the wrong outcome is tried again")
	flags.BoolVar(&o.allowDNS, "allow-dns", true, "allow DNS in tests that deny outgoing traffic")
	flags.BoolVar(&o.loopback, "loopback", false, "test connections of a pod to itself too, as if a policy applied to them")
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop after the first failed test")
	flags.BoolVar(&o.keep, "keep", false, "keep the namespaces")
	flags.BoolVar(&o.list, "list", false, "print the names of all tests, and exit")
	flags.StringVar(&o.mock, "mock", "", "for tests of this program: simulate a cluster in which all connections are allowed (`allow`) or all probes fail (`fail`)")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.include, o.exclude, o.names = split(*include, ","), split(*exclude, ","), split(*names, ";")
	var err error
	if o.focus, err = expression("focus", *focus); err != nil {
		return nil, err
	}
	if o.skip, err = expression("skip", *skip); err != nil {
		return nil, err
	}
	o.protocols = split(strings.ToUpper(*protocols), ",")
	for _, port := range split(*ports, ",") {
		var number int
		if _, err := fmt.Sscanf(port, "%d", &number); err != nil || number < 1 || number > 65535 {
			return nil, fmt.Errorf("invalid value for --ports: %q is not a port", port)
		}
		o.ports = append(o.ports, number)
	}
	return o, o.check()
}

// expression compiles the value of a flag. Without a value, it is nil.
func expression(name, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("invalid value for --%s: %w", name, err)
	}
	return compiled, nil
}

func (o *Options) check() error {
	if o.results == "" && !o.list {
		return errors.New("missing --results: the file to write items to")
	}
	if len(o.ports) == 0 || len(o.protocols) == 0 {
		return errors.New("--ports and --protocols need at least one value each")
	}
	for _, protocol := range o.protocols {
		if !oneOf(protocol, "TCP", "UDP", "SCTP") {
			return fmt.Errorf("invalid value for --protocols: %q; use TCP, UDP or SCTP", protocol)
		}
	}
	if !oneOf(o.target, generator.AllProbeModes...) {
		return fmt.Errorf("invalid value for --target: %q; use service-ip, service-name or pod-ip", o.target)
	}
	if !oneOf(o.family, "", "ipv4", "ipv6") {
		return fmt.Errorf("invalid value for --ip-family: %q; use ipv4 or ipv6", o.family)
	}
	if !oneOf(o.mock, "", "allow", "fail") {
		return fmt.Errorf("invalid value for --mock: %q", o.mock)
	}
	if o.timeout < time.Second || o.retries < 0 || o.wait < 0 {
		return errors.New("--timeout must be at least 1s; --retries and --wait must not be negative")
	}
	return nil
}

// run returns the exit code.
func run(options *Options) (code int) {
	report, err := newReport(options.results)
	if err != nil {
		fmt.Fprintf(os.Stderr, "network-policy: %v\n", err)
		return exitError
	}
	defer report.close()
	tests, err := selectTests(options)
	if err != nil {
		report.broken("selection of tests", err)
		return exitUsage
	}
	cluster, err := connect(options)
	if err != nil {
		report.broken("connection to the cluster", err)
		return exitError
	}
	if err := cluster.claim(); err != nil {
		report.broken("namespaces of the suite", err)
		return exitError
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		cause := <-signals
		report.broken("end of the suite", fmt.Errorf("the suite was interrupted (%v)", cause))
		report.seal()
		cluster.remove()
		os.Exit(exitError)
	}()
	defer cluster.remove()
	defer func() {
		if cause := recover(); cause != nil {
			report.broken("end of the suite", fmt.Errorf("the suite crashed: %v", cause))
			debug.PrintStack()
			code = exitError
		}
	}()
	// Cyclonus ends the program after some errors.
	logrus.RegisterExitHandler(func() {
		report.broken("end of the suite", errors.New("the suite ended after a fatal error; the last lines of network-policy.log have the cause"))
		cluster.remove()
	})
	return execute(options, cluster, tests, report)
}

func split(text, separator string) []string {
	var parts []string
	for _, part := range strings.Split(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func oneOf(value string, values ...string) bool {
	for _, one := range values {
		if value == one {
			return true
		}
	}
	return false
}
