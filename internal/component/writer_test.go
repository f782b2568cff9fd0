package component

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
)

// TestBindingsComeLast: a role is there when its binding is written, however long its own write takes.
func TestBindingsComeLast(t *testing.T) {
	var made atomic.Bool
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			described, ok := obj.(interface{ GetKind() string })
			if !ok {
				return fmt.Errorf("%T does not say its kind", obj)
			}
			switch described.GetKind() {
			case "Role":
				time.Sleep(20 * time.Millisecond)
				made.Store(true)
			case "RoleBinding":
				if !made.Load() {
					return errors.New("the role is not found")
				}
			}
			return nil
		},
	}).Build()
	objects := Access("thing", "clusters-demo", rbac.Rule("", "get", "pods"))
	for _, obj := range objects {
		obj.SetNamespace("clusters-demo")
	}
	if _, ok := objects[1].(*rbacv1.RoleBinding); !ok {
		t.Fatalf("%T", objects[1])
	}
	writer := Writer{Client: c, Keeper: &kube.Keeper{}, HCP: &hyperv1.HostedControlPlane{}}
	if err := writer.Apply(t.Context(), objects[1], objects[0]); err != nil || !made.Load() {
		t.Errorf("the role is made: %t; %v", made.Load(), err)
	}
}
