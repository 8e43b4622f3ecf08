// postprocess DIR PLUGIN: post-processes the JUnit results of a Job plugin with Sonobuoy's library, as its aggregator
// does, and writes the tree of results. Prints seconds, test cases and the peak of resident memory in KiB.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/vmware-tanzu/sonobuoy/pkg/client/results"
	"github.com/vmware-tanzu/sonobuoy/pkg/plugin/driver/job"
	"github.com/vmware-tanzu/sonobuoy/pkg/plugin/manifest"
)

func main() {
	if len(os.Args) != 3 {
		fail("usage: postprocess DIR PLUGIN")
	}
	dir, plugin := os.Args[1], os.Args[2]
	config := manifest.SonobuoyConfig{Driver: "Job", PluginName: plugin, ResultFormat: results.ResultFormatJUnit}
	start := time.Now()
	definition := job.NewPlugin(manifest.Manifest{SonobuoyConfig: config}, "", "", "", "", nil)
	tree, errs := results.PostProcessPlugin(definition, dir)
	if len(errs) > 0 {
		fail(errs)
	}
	if err := results.SaveProcessedResults(plugin, dir, tree); err != nil {
		fail(err)
	}
	seconds := time.Since(start).Seconds()
	fmt.Printf("%f %d %d\n", seconds, leaves(tree), peak())
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

func leaves(item results.Item) int {
	if len(item.Items) == 0 {
		return 1
	}
	count := 0
	for _, below := range item.Items {
		count += leaves(below)
	}
	return count
}

// peak returns VmHWM of /proc/self/status in KiB.
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
