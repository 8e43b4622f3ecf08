package main

import (
	"fmt"
	"strconv"
	"strings"

	plumbline "github.com/plumbline-dev/plumbline/plugin-sdk/go"
)

// maxText bounds each text of a finding: a report is untrusted input.
const maxText = 4 << 10

// finding is one entry of a result's lists.
type finding interface {
	item(policy) plumbline.Item
}

type vulnerability struct {
	VulnerabilityID, PkgName, InstalledVersion, FixedVersion, Status, Severity, Title, PrimaryURL string
}

func (v *vulnerability) item(policy policy) plumbline.Item {
	item := newItem("vulnerability", v.VulnerabilityID+" in "+v.PkgName, v.Severity, v.Title)
	item.Status, item.Meta["reason"] = policy.judge(v.Severity, v.FixedVersion == "")
	item.Meta["id"], item.Meta["package"], item.Meta["installed"] = v.VulnerabilityID, v.PkgName, v.InstalledVersion
	item.Meta["fixed"], item.Meta["state"], item.Meta["url"] = v.FixedVersion, v.Status, v.PrimaryURL
	return item
}

type misconfiguration struct {
	ID, AVDID, Title, Message, Resolution, Severity, PrimaryURL, Status string
	CauseMetadata                                                       struct {
		Resource           string
		StartLine, EndLine int
	}
}

func (m *misconfiguration) item(policy policy) plumbline.Item {
	text := m.Message
	if m.Resolution != "" {
		text = strings.TrimSpace(text + "\nResolution: " + m.Resolution)
	}
	item := newItem("misconfiguration", strings.TrimSpace(m.ID+" "+m.Title), m.Severity, text)
	item.Status, item.Meta["reason"] = policy.judge(m.Severity, false)
	switch m.Status {
	case "PASS":
		item.Status, item.Meta["reason"] = plumbline.Passed, ""
	case "EXCEPTION":
		item.Status, item.Meta["reason"] = plumbline.Skipped, "it has an exception"
	}
	item.Meta["id"], item.Meta["url"], item.Meta["resource"] = m.ID, m.PrimaryURL, m.CauseMetadata.Resource
	item.Meta["lines"] = lines(m.CauseMetadata.StartLine, m.CauseMetadata.EndLine)
	return item
}

type secret struct {
	RuleID, Category, Severity, Title, Match string
	StartLine, EndLine                       int
}

func (s *secret) item(policy policy) plumbline.Item {
	// Trivy has replaced the secret itself with stars.
	item := newItem("secret", s.Title, s.Severity, s.Match)
	item.Status, item.Meta["reason"] = policy.judge(s.Severity, false)
	item.Meta["id"], item.Meta["category"], item.Meta["lines"] = s.RuleID, s.Category, lines(s.StartLine, s.EndLine)
	return item
}

type license struct {
	Severity, Category, PkgName, FilePath, Name, Link string
}

func (l *license) item(policy policy) plumbline.Item {
	where := l.PkgName
	if where == "" {
		where = l.FilePath
	}
	item := newItem("license", l.Name+" of "+where, l.Severity, "")
	item.Status, item.Meta["reason"] = policy.judge(l.Severity, false)
	item.Meta["id"], item.Meta["package"], item.Meta["url"], item.Meta["category"] = l.Name, l.PkgName, l.Link, l.Category
	return item
}

// newItem returns a finding of that kind. The caller adds to its meta; emit drops empty values.
func newItem(kind, name, severity, text string) plumbline.Item {
	item := plumbline.Item{Name: cut(strings.TrimSpace(name)), Meta: plumbline.Meta{"kind": kind, "severity": severity}}
	if item.Name == "" {
		item.Name = kind
	}
	if text != "" {
		item.Details = plumbline.Details{"failure": cut(text)}
	}
	return item
}

// emit bounds the texts of the finding and drops empty ones.
func emit(found finding, depth int, policy policy, out *plumbline.Output) {
	item := found.item(policy)
	item.Depth = depth
	for key, value := range item.Meta {
		if value == "" {
			delete(item.Meta, key)
		} else {
			item.Meta[key] = cut(value)
		}
	}
	if text, some := item.Details["failure"]; some && item.Status != plumbline.Failed {
		item.Details = plumbline.Details{"finding": text}
	}
	out.Emit(item)
}

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " … (cut)"
}

func lines(first, last int) string {
	switch {
	case first <= 0:
		return ""
	case last <= first:
		return strconv.Itoa(first)
	default:
		return fmt.Sprintf("%d-%d", first, last)
	}
}
