package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mattfenwick/cyclonus/pkg/connectivity/probe"
	"github.com/mattfenwick/cyclonus/pkg/kube"
)

// atOnce is the number of connections that a pod tries at the same time.
const atOnce = 6

// script runs `agnhost connect` with each of its arguments but the first, which is the number of
// those at the same time. For each one, it prints a line with its number, the exit code, and the
// first line of the output. In an image with this program, [connectAll] does that.
const script = `most=$1 i=0 line='
'
shift
if command -v network-policy >/dev/null; then
    exec network-policy connect "$@"
fi
for probe; do
    (
        out=$(/agnhost connect $probe 2>&1)
        code=$?
        printf '%s %s %s\n' "$i" "$code" "${out%%"$line"*}"
    ) &
    i=$((i + 1))
    [ $((i % most)) -ne 0 ] || wait
done
wait`

// prober tries connections. Each pod gets one command for all connections from it, so that the API
// server has few requests.
type prober struct {
	cluster  kube.IKubernetes
	timeout  time.Duration
	loopback bool
	// The connections of this step that were right, by key. They are not tried again.
	right map[string]probe.Connectivity
	lock  sync.Mutex
	// Why probes did not run, since the last call of [prober.problems].
	reasons []string
}

// maxReasons is the number of reasons that are kept.
const maxReasons = 5

// RunJobs returns the results of all connections. Those of a pod to itself are left out, unless
// they are tested.
func (p *prober) RunJobs(jobs []*probe.Job) []*probe.JobResult {
	var group sync.WaitGroup
	var lock sync.Mutex
	var results []*probe.JobResult
	from := map[string][]*probe.Job{}
	for _, job := range jobs {
		if right, known := p.right[job.Key()]; known {
			results = append(results, &probe.JobResult{Job: job, Combined: right})
		} else if job.FromKey != job.ToKey || p.loopback {
			from[job.FromKey] = append(from[job.FromKey], job)
		}
	}
	for _, jobs := range from {
		group.Go(func() {
			outcomes := p.tryAll(jobs)
			lock.Lock()
			defer lock.Unlock()
			for i, job := range jobs {
				results = append(results, &probe.JobResult{Job: job, Combined: outcomes[i]})
			}
		})
	}
	group.Wait()
	return results
}

// tryAll tries connections from one pod.
func (p *prober) tryAll(jobs []*probe.Job) []probe.Connectivity {
	outcomes := make([]probe.Connectivity, len(jobs))
	command := []string{"sh", "-c", script, "sh", strconv.Itoa(atOnce)}
	for i, job := range jobs {
		outcomes[i] = probe.ConnectivityCheckFailed
		command = append(command, strings.Join(job.ClientCommand()[2:], " "))
	}
	pod := jobs[0]
	output, err := p.execute(pod, command, len(jobs))
	if err != nil {
		p.failed(fmt.Sprintf("pod %s: %v", pod.FromKey, err))
		return outcomes
	}
	seen := make([]bool, len(jobs))
	for _, line := range strings.Split(output, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		number, code, text, ok := parseLine(line)
		if !ok || number >= len(jobs) || seen[number] {
			p.failed(fmt.Sprintf("pod %s: unexpected output: %q", pod.FromKey, line))
			continue
		}
		seen[number] = true
		switch {
		case code == 0:
			outcomes[number] = probe.ConnectivityAllowed
		case code == 1 && blocked(text):
			outcomes[number] = probe.ConnectivityBlocked
		default:
			p.failed(fmt.Sprintf("%s -> %s: exit code %d: %s", pod.FromKey, jobs[number].ToKey, code, text))
		}
	}
	for i := range jobs {
		if !seen[i] {
			p.failed(fmt.Sprintf("%s -> %s: no output", pod.FromKey, jobs[i].ToKey))
		}
	}
	return outcomes
}

func parseLine(line string) (number, code int, text string, ok bool) {
	parts := strings.SplitN(line, " ", 3)
	if len(parts) < 2 {
		return 0, 0, "", false
	}
	number, err := strconv.Atoi(parts[0])
	if err != nil || number < 0 {
		return 0, 0, "", false
	}
	code, err = strconv.Atoi(parts[1])
	if len(parts) == 3 {
		text = parts[2]
	}
	return number, code, text, err == nil
}

// execute runs a command in a pod. Cyclonus itself sets no timeout.
func (p *prober) execute(pod *probe.Job, command []string, connections int) (string, error) {
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		out, errors, failed, err := p.cluster.ExecuteRemoteCommand(pod.FromNamespace, pod.FromPod, pod.FromContainer, command)
		if err == nil {
			err = failed
		}
		if err != nil {
			err = fmt.Errorf("the command did not run: %w: %s", err, strings.TrimSpace(out+errors))
		}
		done <- outcome{out, err}
	}()
	limit := time.Minute + p.timeout*time.Duration(connections/atOnce+1)
	select {
	case o := <-done:
		return o.text, o.err
	case <-time.After(limit):
		return "", fmt.Errorf("the command did not end within %s", limit)
	}
}

func (p *prober) failed(reason string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if len(p.reasons) < maxReasons && !oneOf(reason, p.reasons...) {
		p.reasons = append(p.reasons, reason)
	}
}

// problems returns the first reasons why probes did not run, since the last call.
func (p *prober) problems() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	reasons := p.reasons
	p.reasons = nil
	return reasons
}

// blocked returns whether the output of a failed `agnhost connect` has a cause that a firewall can
// have.
func blocked(output string) bool {
	if strings.HasPrefix(output, "TIMEOUT") || strings.HasPrefix(output, "REFUSED") {
		return true
	}
	// What ICMP messages of a firewall and rules for outgoing packets cause. A policy can also block
	// the connection to DNS.
	if !strings.HasPrefix(output, "OTHER:") && !strings.HasPrefix(output, "DNS:") {
		return false
	}
	for _, cause := range []string{
		"no route to host", "host is unreachable", "network is unreachable", "permission denied",
		"operation not permitted", "connection reset", "connection refused", "i/o timeout",
	} {
		if strings.Contains(output, cause) {
			return true
		}
	}
	return false
}
