package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mattfenwick/cyclonus/pkg/kube"
	"github.com/mattfenwick/cyclonus/pkg/matcher"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// simulated is a cluster that enforces the policies that `enforced` selects.
type simulated struct {
	*kube.MockKubernetes
	enforced func(*networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy
	// How commands in pods fail.
	broken error
	// Whether the first probe of each command prints nothing.
	silent bool
	// The number of probes, and of those that time out first.
	tried, late int
	lock        sync.Mutex
}

func (s *simulated) ExecuteRemoteCommand(namespace, pod, container string, command []string) (string, string, error, error) {
	if s.broken != nil {
		return "", "", s.broken, nil
	}
	var policies []*networkingv1.NetworkPolicy
	for name := range s.Namespaces {
		found, _ := s.GetNetworkPoliciesInNamespace(name)
		for i := range found {
			if policy := s.enforced(&found[i]); policy != nil {
				policies = append(policies, policy)
			}
		}
	}
	var out strings.Builder
	s.lock.Lock()
	defer s.lock.Unlock()
	for i, words := range command[5:] {
		s.tried++
		if s.silent && i == 0 {
			continue
		}
		if s.tried <= s.late {
			fmt.Fprintf(&out, "%d 1 TIMEOUT\r\n", i)
			continue
		}
		if matcher.BuildNetworkPolicies(true, policies).IsTrafficAllowed(s.traffic(namespace, pod, words)).IsAllowed() {
			fmt.Fprintf(&out, "%d 0 \r\n", i)
		} else {
			fmt.Fprintf(&out, "%d 1 TIMEOUT\r\n", i)
		}
	}
	return out.String(), "", nil, nil
}

func (s *simulated) traffic(namespace, pod, words string) *matcher.Traffic {
	command := strings.Fields(words)
	host, portText, _ := strings.Cut(command[0], ":")
	port, _ := strconv.Atoi(portText)
	service := strings.Split(strings.SplitN(host, ".", 2)[0], "-")
	protocol := v1.Protocol(strings.ToUpper(strings.TrimPrefix(command[2], "--protocol=")))
	return &matcher.Traffic{
		Source:           s.peer(namespace, pod),
		Destination:      s.peer(strings.Join(service[1:len(service)-1], "-"), service[len(service)-1]),
		ResolvedPort:     port,
		ResolvedPortName: fmt.Sprintf("serve-%d-%s", port, strings.ToLower(string(protocol))),
		Protocol:         protocol,
	}
}

func (s *simulated) peer(namespace, pod string) *matcher.TrafficPeer {
	object, _ := s.GetPod(namespace, pod)
	labels, _ := s.GetNamespace(namespace)
	return &matcher.TrafficPeer{
		Internal: &matcher.InternalPeer{PodLabels: object.Labels, NamespaceLabels: labels.Labels, Namespace: namespace},
		IP:       object.Status.PodIP,
	}
}

// suite runs the tests with these arguments on a simulated cluster. It returns the exit code and the
// status of each test.
func suite(t *testing.T, s *simulated, args ...string) (int, map[string]item) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "items.jsonl")
	options, err := parse(append([]string{"--results", path, "--wait", "0s", "--retries", "0", "--ports", "80", "--target", "service-name"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := selectTests(options)
	if err != nil {
		t.Fatal(err)
	}
	report, err := newReport(path)
	if err != nil {
		t.Fatal(err)
	}
	cluster := &cluster{IKubernetes: s}
	code := execute(options, cluster, chosen, report)
	report.close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	items := map[string]item{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var item item
		if err := json.Unmarshal([]byte(line), &item); err != nil {
			t.Fatal(err)
		}
		if _, double := items[item.Name]; double {
			t.Errorf("%q is reported twice", item.Name)
		}
		items[item.Name] = item
	}
	return code, items
}

func all(policy *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy { return policy }

func none(*networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy { return nil }

func simulate(enforced func(*networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy) *simulated {
	return &simulated{MockKubernetes: kube.NewMockKubernetes(1), enforced: enforced}
}

const (
	onlyIngress = "should support a 'default-deny-ingress' policy"
	bothAllowed = "deny all + allow all to same dest"
	quick       = "ingress: deny all; egress: deny all; Create/delete policy; " + onlyIngress + "; " + bothAllowed
)

func TestAClusterThatEnforcesPoliciesPasses(t *testing.T) {
	code, items := suite(t, simulate(all), "--tests", quick)
	if code != 0 || len(items) != 6 {
		t.Fatalf("exit code %d: %v", code, items)
	}
	for name, item := range items {
		if item.Status != "passed" || item.Meta["connections"] == "0" {
			t.Errorf("%s: %v", name, item)
		}
	}
}

func TestAClusterThatEnforcesNothingFails(t *testing.T) {
	code, items := suite(t, simulate(none), "--tests", quick)
	expected := map[string]string{
		controlName: "passed", "ingress: deny all": "failed", "egress: deny all": "failed",
		onlyIngress: "failed", bothAllowed: "passed", "Create/delete policy": "failed",
	}
	for name, status := range expected {
		if items[name].Status != status {
			t.Errorf("%s is %s, not %s", name, items[name].Status, status)
		}
	}
	failure := items["ingress: deny all"].Details["failure"]
	if code != exitFailed || !strings.Contains(failure, "  y/a -> x/a TCP/80: expected blocked, got allowed") {
		t.Errorf("exit code %d: %s", code, failure)
	}
}

func TestAnEngineWithoutEgressFailsTheTestsOfEgress(t *testing.T) {
	ingress := func(policy *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy {
		copied := policy.DeepCopy()
		copied.Spec.PolicyTypes = nil
		for _, kind := range policy.Spec.PolicyTypes {
			if kind == networkingv1.PolicyTypeIngress {
				copied.Spec.PolicyTypes = append(copied.Spec.PolicyTypes, kind)
			}
		}
		if len(copied.Spec.PolicyTypes) == 0 {
			return nil
		}
		return copied
	}
	code, items := suite(t, simulate(ingress), "--tests", quick)
	if code != exitFailed || items[onlyIngress].Status != "passed" || items["egress: deny all"].Status != "failed" {
		t.Errorf("exit code %d: %v", code, items)
	}
}

func TestAProbeThatDoesNotRunIsNeverABlockedConnection(t *testing.T) {
	broken := simulate(all)
	broken.broken = errors.New("unable to upgrade connection: Forbidden")
	code, items := suite(t, broken, "--tests", quick)
	control := items[controlName]
	if code != exitError || control.Status != "failed" || items["tests of policies"].Status != "unknown" || len(items) != 2 {
		t.Fatalf("exit code %d: %v", code, items)
	}
	if failure := control.Details["failure"]; !strings.Contains(failure, "got not probed") || !strings.Contains(failure, "Forbidden") {
		t.Error(failure)
	}
}

func TestOnlyConnectionsThatWereWrongAreTriedAgain(t *testing.T) {
	slow := simulate(all)
	slow.late = 5
	code, _ := suite(t, slow, "--tests", bothAllowed, "--retries", "1")
	if expected := 2*72*2 + 5; code != 0 || slow.tried != expected {
		t.Errorf("exit code %d, %d probes and not %d", code, slow.tried, expected)
	}
	slow.tried = 0
	if code, _ := suite(t, &simulated{MockKubernetes: kube.NewMockKubernetes(1), enforced: all, late: 5}, "--tests", bothAllowed); code != exitError {
		t.Errorf("exit code %d", code)
	}
}

func TestAProbeWithoutOutputIsNeverABlockedConnection(t *testing.T) {
	silent := simulate(all)
	silent.silent = true
	code, items := suite(t, silent, "--tests", quick)
	if failure := items[controlName].Details["failure"]; code != exitError || !strings.Contains(failure, ": no output") {
		t.Errorf("exit code %d: %s", code, failure)
	}
}

func TestConnectionsAreTriedAsAgnhostDoes(t *testing.T) {
	tcpServer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcpServer.Close()
	udpServer, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udpServer.Close()
	// It answers only the first packet.
	go func() {
		if _, from, err := udpServer.ReadFrom(make([]byte, 100)); err == nil {
			_, _ = udpServer.WriteTo([]byte("host"), from)
		}
	}()
	udpAddress := udpServer.LocalAddr().String()
	try := func(address, protocol string) string {
		var out strings.Builder
		connectAll([]string{address + " --timeout=1s --protocol=" + protocol}, &out)
		return out.String()
	}
	for _, one := range []struct{ address, protocol, expected string }{
		{tcpServer.Addr().String(), "tcp", "0 0 "},
		{udpAddress, "udp", "0 0 "},
		{udpAddress, "udp", "0 1 TIMEOUT: "},
		{"127.0.0.1:1", "tcp", "0 1 REFUSED: "},
		{"127.0.0.1:1", "udp", "0 1 REFUSED: "},
		{"no-such-host.invalid:1", "tcp", "0 1 DNS: "},
		{"127.0.0.1", "tcp", "0 1 OTHER: "},
		{"127.0.0.1:1 x", "tcp", "0 1 INVALID: "},
	} {
		if got := try(one.address, one.protocol); !strings.HasPrefix(got, one.expected) {
			t.Errorf("%s %s: %q", one.address, one.protocol, got)
		}
	}
}

func TestWhatCountsAsBlocked(t *testing.T) {
	for output, expected := range map[string]bool{
		"TIMEOUT": true,
		"REFUSED": true,
		"OTHER: dial tcp 10.0.0.1:80: connect: no route to host":       true,
		"OTHER: write udp 10.0.0.1:80: write: operation not permitted": true,
		"DNS: lookup s-x-a.x.svc.cluster.local: no such host":          false,
		"DNS: lookup a on 10.96.0.10:53: read udp: connection refused": true,
		"OTHER: protocol not supported":                                false,
		"sh: /agnhost: not found":                                      false,
		"":                                                             false,
	} {
		if got := blocked(output); got != expected {
			t.Errorf("%q: %v", output, got)
		}
	}
	for _, line := range []string{"", "1", "x 0", "1 x", "-1 0"} {
		if _, _, _, ok := parseLine(line); ok {
			t.Errorf("%q is accepted", line)
		}
	}
}

func TestNamesAreUniqueAndSelectionsAreChecked(t *testing.T) {
	options := &Options{allowDNS: true}
	names := map[string]bool{}
	for _, test := range allTests(options) {
		if names[test.name] {
			t.Errorf("%q occurs twice", test.name)
		}
		names[test.name] = true
	}
	for _, wrong := range []*Options{
		{names: []string{"there is no such test"}},
		{focus: regexp.MustCompile("no such test")},
		{focus: regexp.MustCompile("deny all"), skip: regexp.MustCompile("all")},
		{include: []string{"no-such-tag"}},
		{include: []string{"multi-peer"}, exclude: []string{"ingress", "egress"}},
	} {
		if chosen, err := selectTests(wrong); err == nil {
			t.Errorf("%v selects %d tests", wrong, len(chosen))
		}
	}
}

func TestExpressionsInVariablesSelectTests(t *testing.T) {
	t.Setenv(focusVariable, "^(ingress|egress): deny all$")
	t.Setenv(skipVariable, "^egress")
	t.Setenv(excludeVariable, "")
	options, err := parse([]string{"--results", "items.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := selectTests(options)
	if err != nil || len(chosen) != 1 || !chosen["ingress: deny all"] {
		t.Errorf("%v: %v", chosen, err)
	}
	// The control may be the only test that failed.
	t.Setenv(focusVariable, "^"+regexp.QuoteMeta(controlName)+"$")
	options, err = parse([]string{"--results", "items.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	if chosen, err := selectTests(options); err != nil || len(chosen) != 0 {
		t.Errorf("%v: %v", chosen, err)
	}
	if _, err := parse([]string{"--results", "items.jsonl", "--skip", "("}); err == nil {
		t.Error("an invalid expression is accepted")
	}
}

func TestATestOfAPortThatNoPodServesIsSkipped(t *testing.T) {
	const named = "should allow ingress access on one named port"
	code, items := suite(t, simulate(all), "--tests", named+"; ingress: deny all")
	if code != 0 || items[named].Status != "skipped" || !strings.Contains(items[named].Details["skipped"], "TCP ") {
		t.Errorf("exit code %d: %v", code, items)
	}
}

func TestNamespacesOfOthersAreLeftAlone(t *testing.T) {
	mock := kube.NewMockKubernetes(1)
	if _, err := mock.CreateNamespace(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "y"}}); err != nil {
		t.Fatal(err)
	}
	foreign := &cluster{IKubernetes: mock}
	if err := foreign.claim(); err == nil || !strings.Contains(err.Error(), "`y` exists already") {
		t.Error(err)
	}
	foreign.remove()
	if _, err := mock.GetNamespace("y"); err != nil {
		t.Error(err)
	}
}

func TestAPodWithoutAnAddressOfTheFamilyHasNone(t *testing.T) {
	pod := &v1.Pod{Status: v1.PodStatus{PodIP: "10.0.0.1", PodIPs: []v1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}}}
	for family, expected := range map[string]string{"": "10.0.0.1", "ipv4": "10.0.0.1", "ipv6": "fd00::1"} {
		copied := pod.DeepCopy()
		(&cluster{family: family}).selectAddress(copied)
		if copied.Status.PodIP != expected {
			t.Errorf("%q: %s", family, copied.Status.PodIP)
		}
	}
	pod.Status.PodIPs = pod.Status.PodIPs[:1]
	if (&cluster{family: "ipv6"}).selectAddress(pod); pod.Status.PodIP != "" {
		t.Error(pod.Status.PodIP)
	}
}
