package suite

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

// leftoverTimeout is how long the deletion of the namespaces of an earlier run may take.
const leftoverTimeout = 3 * time.Minute

// waitForLeftovers waits until the namespaces that an earlier run deleted are gone. The suite does
// not wait at its end, and fails at once if it cannot create objects in them.
func waitForLeftovers(t *testing.T, options *suite.ConformanceOptions) {
	names := []string{
		suite.InfrastructureNamespace, suite.AppBackendNamespace, suite.WebBackendNamespace,
		suite.MeshNamespace, suite.MeshConsumerNamespace,
	}
	for _, name := range names {
		gone := func(ctx context.Context) (bool, error) {
			namespace, err := options.Clientset.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return err == nil && namespace.Status.Phase != corev1.NamespaceTerminating, err
		}
		if err := wait.PollUntilContextTimeout(context.TODO(), time.Second, leftoverTimeout, true, gone); err != nil {
			t.Fatalf("namespace %q of an earlier run is still there: %v", name, err)
		}
	}
}
