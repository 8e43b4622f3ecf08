package plumbline

// Node is a node of the cluster, or this machine in a local run.
type Node struct {
	Name   string
	Labels map[string]string
	Taints []Taint
	// Ready: the condition Ready is True.
	Ready bool
	// Unschedulable: the node is cordoned.
	Unschedulable bool
	// OS is "linux", "windows", ...; empty when the cluster does not say.
	OS string
	// Arch is "amd64", "arm64", ...; empty when the cluster does not say.
	Arch string
}

// Taint is a taint of a node (Kubernetes core/v1).
type Taint struct{ Key, Value, Effect string }

// Expected is one result that must arrive: that of a node, or the one of the whole cluster.
type Expected struct {
	// Node is the node's name; empty for the one result of the whole cluster.
	Node string
}

// Global is the one result of the whole cluster.
var Global = Expected{}
