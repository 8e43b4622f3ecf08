// Command verifier applies the rules of the conformance verifier to submissions, with the parsers and the
// field types that the verifier uses.
//
// It reads a stream of JSON objects, one submission each, and writes one JSON object per submission:
// for each rule, whether the submission keeps it.
package main

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"log"
	"net/mail"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// file is a file of a submission, under its path in the repository.
type file struct {
	Path    string
	Content []byte
}

// submission is one question.
type submission struct {
	Files    []file
	Required []string
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type message struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type testCase struct {
	XMLName   xml.Name `xml:"testcase"`
	Classname string   `xml:"classname,attr"`
	Name      string   `xml:"name,attr"`
	Time      string   `xml:"time,attr"`
	Skipped   *message `xml:"skipped,omitempty"`
	Failure   *message `xml:"failure,omitempty"`
	Error     *message `xml:"error,omitempty"`
	SystemOut string   `xml:"system-out,omitempty"`
	SystemErr string   `xml:"system-err,omitempty"`
}

type testSuite struct {
	XMLName    xml.Name   `xml:"testsuite"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Time       float64    `xml:"time,attr"`
	Name       string     `xml:"name,attr"`
	Properties []property `xml:"properties>property,omitempty"`
	TestCases  []testCase `xml:"testcase"`
}

type testSuites struct {
	XMLName xml.Name    `xml:"testsuites"`
	Suites  []testSuite `xml:"testsuite"`
}

var names = []string{"README.md", "PRODUCT.yaml", "e2e.log", "junit_01.xml"}

var fields = []string{"vendor", "name", "version", "type", "description", "website_url", "documentation_url", "contact_email_address"}

var urls = []string{"website_url", "repo_url", "documentation_url", "product_logo_url"}

var types = []string{"distribution", "hosted platform", "installer"}

var folder = regexp.MustCompile(`(v1.[0-9]{2})/(.*)`)

// find returns the first file with that name, in any case.
func (s submission) find(name string) *file {
	for i := range s.Files {
		if strings.EqualFold(path.Base(s.Files[i].Path), name) {
			return &s.Files[i]
		}
	}
	return nil
}

func (s submission) product(into any) bool {
	found := s.find("PRODUCT.yaml")
	return found != nil && yaml.Unmarshal(found.Content, into) == nil
}

func (s submission) requiredFiles() bool {
	for _, name := range names {
		if found := s.find(name); found == nil || len(found.Content) == 0 {
			return false
		}
	}
	var content map[string]interface{}
	return s.product(&content)
}

func (s submission) noOtherFiles() bool {
	if len(s.Files) == 0 {
		return false
	}
	for _, file := range s.Files {
		if !contains(names, path.Base(file.Path)) {
			return false
		}
	}
	return true
}

func (s submission) folderStructure() bool {
	for _, file := range s.Files {
		match := folder.FindStringSubmatch(path.Dir(file.Path))
		if match == nil || match[2] == "" {
			return false
		}
	}
	return len(s.Files) > 0
}

func (s submission) oneProduct() bool {
	paths := map[string]bool{}
	for _, file := range s.Files {
		paths[path.Dir(file.Path)] = true
	}
	return len(paths) == 1
}

func (s submission) productFields() bool {
	var content map[string]*interface{}
	if !s.product(&content) {
		return false
	}
	for _, field := range fields {
		if content[field] == nil {
			return false
		}
	}
	return true
}

func (s submission) productAddresses() bool {
	var content map[string]string
	if !s.product(&content) {
		return false
	}
	for _, field := range urls {
		if _, err := url.ParseRequestURI(content[field]); content[field] != "" && err != nil {
			return false
		}
	}
	address := content["contact_email_address"]
	_, err := mail.ParseAddress(address)
	return address == "" || err == nil
}

func (s submission) productType() bool {
	var content map[string]string
	return s.product(&content) && contains(types, content["type"])
}

// results returns the conformance tests that ran.
func (s submission) results() ([]testCase, bool) {
	found := s.find("junit_01.xml")
	if found == nil {
		return nil, false
	}
	var document testSuites
	if xml.Unmarshal(found.Content, &document) != nil {
		return nil, false
	}
	cases := []testCase{}
	replacer := []string{"&#39;", "'", "&#34;", "\"", "&gt;", ">", "'cat /tmp/health'", "\"cat /tmp/health\""}
	for _, suite := range document.Suites {
		for _, test := range suite.TestCases {
			if test.Skipped != nil || !strings.Contains(test.Name, "[Conformance]") {
				continue
			}
			for i := 0; i < len(replacer); i += 2 {
				test.Name = strings.ReplaceAll(test.Name, replacer[i], replacer[i+1])
			}
			test.Name = strings.TrimPrefix(test.Name, "[It] ")
			cases = append(cases, test)
		}
	}
	return cases, true
}

func (s submission) requiredTests() bool {
	cases, ok := s.results()
	missing := map[string]bool{}
	for _, name := range s.Required {
		missing[name] = true
	}
	for _, test := range cases {
		if test.Failure == nil {
			delete(missing, test.Name)
		}
	}
	return ok && len(missing) == 0
}

func (s submission) noFailedTests() bool {
	cases, ok := s.results()
	for _, test := range cases {
		if test.Failure != nil || test.Error != nil {
			return false
		}
	}
	return ok
}

func (s submission) answer() map[string]bool {
	_, readable := s.results()
	return map[string]bool{
		"required-files":    s.requiredFiles(),
		"no-other-files":    s.noOtherFiles(),
		"folder-structure":  s.folderStructure(),
		"one-product":       s.oneProduct(),
		"product-fields":    s.productFields(),
		"product-addresses": s.productAddresses(),
		"product-type":      s.productType(),
		"results-readable":  readable,
		"required-tests":    s.requiredTests(),
		"no-failed-tests":   s.noFailedTests(),
	}
}

func contains(all []string, one string) bool {
	for _, each := range all {
		if each == one {
			return true
		}
	}
	return false
}

func main() {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := json.NewEncoder(os.Stdout)
	for {
		var question submission
		if err := in.Decode(&question); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(question.answer()); err != nil {
			log.Fatal(err)
		}
	}
}
