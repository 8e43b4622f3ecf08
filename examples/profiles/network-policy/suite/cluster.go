package main

import (
	"fmt"
	"os"
	"time"

	"github.com/mattfenwick/cyclonus/pkg/kube"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/net"
)

// owner is the annotation of the namespaces of the suite. Cyclonus replaces their labels.
const owner = "plumbline.dev/network-policy"

// cluster is the cluster under test. It adapts what Cyclonus asks for.
type cluster struct {
	kube.IKubernetes
	image, family string
	// Cyclonus creates its namespaces only after [cluster.claim] succeeded.
	claimed, keep bool
}

// connect returns the cluster of the kubeconfig, or the one of this pod.
func connect(options *Options) (*cluster, error) {
	c := &cluster{image: options.image, family: options.family, keep: options.keep}
	if options.mock != "" {
		c.IKubernetes = &mock{kube.NewMockKubernetes(1), options.mock == "fail"}
		return c, nil
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: options.context}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 50, 100
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if _, err := client.ServerVersion(); err != nil {
		return nil, fmt.Errorf("failed to reach the API server %s: %w", config.Host, err)
	}
	c.IKubernetes = &kube.Kubernetes{ClientSet: client, RestConfig: config}
	return c, nil
}

// claim removes what an earlier run left, and rejects namespaces of somebody else. The suite deletes
// the policies of its namespaces and replaces their labels.
func (c *cluster) claim() error {
	list, err := c.GetAllNamespaces()
	if err != nil {
		return fmt.Errorf("failed to list namespaces: %w", err)
	}
	for _, namespace := range list.Items {
		if !oneOf(namespace.Name, append(namespaces, transient...)...) {
			continue
		}
		if _, ours := namespace.Annotations[owner]; !ours {
			return fmt.Errorf("the namespace `%s` exists already: the suite would delete its NetworkPolicies; remove it, or use another cluster", namespace.Name)
		}
	}
	c.claimed = true
	return c.removeNamespaces(list)
}

// remove removes the namespaces of the suite.
func (c *cluster) remove() {
	if c.keep || !c.claimed {
		return
	}
	list, err := c.GetAllNamespaces()
	if err == nil {
		err = c.removeNamespaces(list)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "failed to remove the namespaces of the suite: %v\n", err)
	}
}

// removeNamespaces deletes those of the listed namespaces that belong to the suite, and waits for
// their end.
func (c *cluster) removeNamespaces(list *v1.NamespaceList) error {
	left := map[string]bool{}
	for _, namespace := range list.Items {
		if _, ours := namespace.Annotations[owner]; !ours {
			continue
		}
		left[namespace.Name] = true
		if namespace.DeletionTimestamp == nil {
			if err := c.DeleteNamespace(namespace.Name); err != nil {
				return err
			}
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); len(left) > 0; time.Sleep(time.Second) {
		list, err := c.GetAllNamespaces()
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, namespace := range list.Items {
			there[namespace.Name] = left[namespace.Name]
		}
		for name := range left {
			if !there[name] {
				delete(left, name)
			}
		}
		if len(left) > 0 && time.Now().After(deadline) {
			return fmt.Errorf("%d deleted namespaces still exist after two minutes", len(left))
		}
	}
	return nil
}

// CreateNamespace marks the namespace as one of the suite.
func (c *cluster) CreateNamespace(namespace *v1.Namespace) (*v1.Namespace, error) {
	namespace.Annotations = map[string]string{owner: "suite"}
	return c.IKubernetes.CreateNamespace(namespace)
}

// CreatePod sets the image, and spreads pods over nodes. So connections on one node and between
// nodes are tested. The first container runs the probes. It requests some CPU, because probes time
// out if other pods on the node get all of it.
func (c *cluster) CreatePod(pod *v1.Pod) (*v1.Pod, error) {
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}
	for i := range pod.Spec.Containers {
		if c.image != "" {
			pod.Spec.Containers[i].Image = c.image
		}
	}
	no := false
	pod.Spec.AutomountServiceAccountToken = &no
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew:           1,
		TopologyKey:       v1.LabelHostname,
		WhenUnsatisfiable: v1.ScheduleAnyway,
		LabelSelector:     &metav1.LabelSelector{},
	}}
	return c.IKubernetes.CreatePod(pod)
}

// CreateService selects the IP family.
func (c *cluster) CreateService(service *v1.Service) (*v1.Service, error) {
	if family := map[string]v1.IPFamily{"ipv4": v1.IPv4Protocol, "ipv6": v1.IPv6Protocol}[c.family]; family != "" {
		single := v1.IPFamilyPolicySingleStack
		service.Spec.IPFamilies, service.Spec.IPFamilyPolicy = []v1.IPFamily{family}, &single
	}
	return c.IKubernetes.CreateService(service)
}

// GetPod returns the pod with its address of the IP family.
func (c *cluster) GetPod(namespace, name string) (*v1.Pod, error) {
	pod, err := c.IKubernetes.GetPod(namespace, name)
	if err == nil {
		c.selectAddress(pod)
	}
	return pod, err
}

// GetPodsInNamespace returns the pods with their addresses of the IP family.
func (c *cluster) GetPodsInNamespace(namespace string) ([]v1.Pod, error) {
	pods, err := c.IKubernetes.GetPodsInNamespace(namespace)
	for i := range pods {
		c.selectAddress(&pods[i])
	}
	return pods, err
}

// SetPodLabels tries again if the kubelet changed the pod at the same time.
func (c *cluster) SetPodLabels(namespace, name string, labels map[string]string) (pod *v1.Pod, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pod, err = c.IKubernetes.SetPodLabels(namespace, name, labels)
		return err
	})
	return pod, err
}

// SetNamespaceLabels tries again if a controller changed the namespace at the same time.
func (c *cluster) SetNamespaceLabels(name string, labels map[string]string) (namespace *v1.Namespace, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		namespace, err = c.IKubernetes.SetNamespaceLabels(name, labels)
		return err
	})
	return namespace, err
}

// selectAddress leaves no address if the pod has none of the IP family, so that Cyclonus waits for
// one, and then fails.
func (c *cluster) selectAddress(pod *v1.Pod) {
	if c.family == "" {
		return
	}
	selected := ""
	for _, address := range pod.Status.PodIPs {
		if net.IsIPv6String(address.IP) == (c.family == "ipv6") {
			selected = address.IP
			break
		}
	}
	pod.Status.PodIP = selected
}

// waiting returns what the pods that do not run wait for.
func (c *cluster) waiting() string {
	for _, namespace := range namespaces {
		pods, err := c.GetPodsInNamespace(namespace)
		if err != nil {
			continue
		}
		for _, pod := range pods {
			if pod.Status.Phase == v1.PodRunning && pod.Status.PodIP == "" {
				return fmt.Sprintf("; pod %s/%s has no address of the family %s", namespace, pod.Name, c.family)
			}
			for _, condition := range pod.Status.Conditions {
				if condition.Type == v1.PodScheduled && condition.Status != v1.ConditionTrue {
					return fmt.Sprintf("; pod %s/%s: %s: %s", namespace, pod.Name, condition.Reason, condition.Message)
				}
			}
			for _, status := range pod.Status.ContainerStatuses {
				if waiting := status.State.Waiting; waiting != nil {
					return fmt.Sprintf("; pod %s/%s, container %s: %s: %s", namespace, pod.Name, status.Name, waiting.Reason, waiting.Message)
				}
			}
		}
	}
	return ""
}
