// Reads a JUnit file the way Go programs do: encoding/xml into structs, then one walk over them. Prints seconds, test cases and the
// peak of resident memory in KiB.
package main

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"time"
)

type result struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type testCase struct {
	Name    string  `xml:"name,attr"`
	Skipped *result `xml:"skipped"`
	Failure *result `xml:"failure"`
	Error   *result `xml:"error"`
	Out     string  `xml:"system-out"`
	Err     string  `xml:"system-err"`
}

type testSuite struct {
	Name  string     `xml:"name,attr"`
	Cases []testCase `xml:"testcase"`
}

type testSuites struct {
	XMLName xml.Name    `xml:"testsuites"`
	Suites  []testSuite `xml:"testsuite"`
}

type item struct {
	name, status string
	details      map[string]string
}

func main() {
	start := time.Now()
	file, err := os.Open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var root testSuites
	if err := xml.NewDecoder(bufio.NewReader(file)).Decode(&root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	count := 0
	var items []item
	for _, suite := range root.Suites {
		for _, test := range suite.Cases {
			it := item{name: test.Name, status: "passed", details: map[string]string{}}
			switch {
			case test.Skipped != nil:
				it.status = "skipped"
			case test.Failure != nil:
				it.status = "failed"
				it.details["failure"] = strings.TrimSpace(test.Failure.Message + " " + test.Failure.Text)
			case test.Error != nil:
				it.status = "failed"
				it.details["error"] = strings.TrimSpace(test.Error.Message + " " + test.Error.Text)
			}
			if test.Out != "" {
				it.details["system-out"] = test.Out
			}
			if test.Err != "" {
				it.details["system-err"] = test.Err
			}
			items = append(items, it)
			count++
		}
	}
	_ = items
	seconds := time.Since(start).Seconds()
	fmt.Printf("%f %d %d\n", seconds, count, peak())
}

// peak is VmHWM of /proc/self/status, in KiB.
func peak() int {
	data, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(data), "\n") {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib
		}
	}
	return 0
}
