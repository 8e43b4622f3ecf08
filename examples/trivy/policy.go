package main

import (
	"fmt"
	"slices"
	"strings"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// severities are those of Trivy, worst first.
var severities = []string{"CRITICAL", "HIGH", "MEDIUM", "LOW", "UNKNOWN"}

// policy has the options of the definition, which decide which findings fail.
type policy struct {
	// FailOn are the severities that fail.
	FailOn []string `json:"fail-on"`
	// IgnoreUnfixed skips vulnerabilities without a fixed version.
	IgnoreUnfixed bool `json:"ignore-unfixed"`
}

func readPolicy(plugin plumbline.Plugin) (policy, error) {
	policy := policy{FailOn: []string{"CRITICAL", "HIGH"}}
	if err := plugin.Options(&policy); err != nil {
		return policy, err
	}
	if len(policy.FailOn) == 0 {
		return policy, fmt.Errorf("`fail-on` has no severity, so nothing could fail: use %s", strings.Join(severities, ", "))
	}
	for index, severity := range policy.FailOn {
		policy.FailOn[index] = strings.ToUpper(severity)
		if !slices.Contains(severities, policy.FailOn[index]) {
			return policy, fmt.Errorf("`fail-on` has `%s`, which is not a severity: use %s", severity, strings.Join(severities, ", "))
		}
	}
	return policy, nil
}

// judge returns the status of a finding, and why it is not a failure.
func (p policy) judge(severity string, unfixed bool) (plumbline.Status, string) {
	if severity == "" {
		severity = "UNKNOWN"
	}
	if !slices.Contains(p.FailOn, strings.ToUpper(severity)) {
		return plumbline.Skipped, severity + " is not in fail-on"
	}
	if unfixed && p.IgnoreUnfixed {
		return plumbline.Skipped, "no version has a fix"
	}
	return plumbline.Failed, ""
}
