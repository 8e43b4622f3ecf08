package plumbline

// Node is a node of the cluster, or this machine in a local run.
type Node struct {
	Name   string
	Labels map[string]string
	Taints []Taint
	// Ready is whether the condition Ready is True.
	Ready bool
	// Unschedulable is whether the node is cordoned.
	Unschedulable bool
	// OS is "linux", "windows", ...; empty if unknown.
	OS string
	// Arch is "amd64", "arm64", ...; empty if unknown.
	Arch string
}

// Taint is a taint of a node (Kubernetes core/v1).
type Taint struct{ Key, Value, Effect string }

// Expected is a result that must arrive: that of a node, or the one of the whole cluster.
type Expected struct {
	// Node is the name of the node. It is empty for the one result of the whole cluster.
	Node string
}

// Global returns the one result of the whole cluster.
var Global = Expected{}
