package suite

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

// setVersion takes the version of the implementation from the tag of its image, so that the report
// has the version that was tested. Another version that the user gave is an error.
func setVersion(t *testing.T, options *suite.ConformanceOptions, reference string) {
	namespace, name, found := strings.Cut(reference, "/")
	if !found {
		t.Fatalf("invalid Deployment %q: expected NAMESPACE/NAME", reference)
	}
	deployment, err := options.Clientset.AppsV1().Deployments(namespace).Get(context.TODO(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("failed to read the Deployment of the implementation: %v", err)
	}
	image := deployment.Spec.Template.Spec.Containers[0].Image
	version := tag(image)
	given := options.Implementation.Version
	switch {
	case version == "" && given == "":
		t.Fatalf("image %q of Deployment %q has no tag: pass the version", image, reference)
	case version == "":
	case given != "" && given != version:
		t.Fatalf("the version is %q, but Deployment %q has image %q", given, reference, image)
	default:
		options.Implementation.Version = version
	}
}

// tag returns the tag of an image, or nothing.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag
}
