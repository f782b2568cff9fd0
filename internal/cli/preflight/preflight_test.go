package preflight

import (
	"bytes"
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hypershift-on-azure/hypershift/internal/preflight"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestManagementFlags: what the flags look for, and the exit by severity: --etcd-storage-class, --highly-available, --strict, --operator-namespace, --output.
func TestManagementFlags(t *testing.T) {
	c := surveytest.Client(
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "operator"}, Status: appsv1.DeploymentStatus{AvailableReplicas: 1}},
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "usual", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}},
	).WithInterceptorFuncs(interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
		obj.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed = true
		return nil
	}}).Build()
	needs := preflight.Needs{Namespace: "clusters", Operator: "hypershift"}
	for _, tc := range []struct {
		title         string
		change        func(*managementFlags)
		refusal, part string
	}{
		{"warned", func(*managementFlags) {}, "", "warn     room for a control plane"},
		{"--strict", func(f *managementFlags) { f.list.Strict = true }, "a check warns", "to do: add nodes"},
		{"--highly-available", func(f *managementFlags) { f.HighlyAvailable = true }, "", "zones for three replicas"},
		{"--etcd-storage-class", func(f *managementFlags) { f.StorageClass = "none" }, "1 of 11 checks failed", "fail     storage class of etcd"},
		{"--operator-namespace", func(f *managementFlags) { f.Operator = "other" }, "1 of 11 checks failed", "other/operator"},
		{"--output", func(f *managementFlags) { f.list.Output = "json" }, "", `"status": "warn"`},
	} {
		f := &managementFlags{Needs: needs}
		tc.change(f)
		var out bytes.Buffer
		err := f.run(t.Context(), c, &out)
		if (err != nil) != (tc.refusal != "") || err != nil && !strings.Contains(err.Error(), tc.refusal) || !strings.Contains(out.String(), tc.part) {
			t.Errorf("%s: %v\n%s", tc.title, err, out.String())
		}
	}
}
