package objects

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestApplyWaitsForWhatPasses: a kind that is not served yet and a server that restarts are waited for; a refusal is told at once.
func TestApplyWaitsForWhatPasses(t *testing.T) {
	configMaps := schema.GroupResource{Resource: "configmaps"}
	for _, test := range []struct {
		name    string
		answers []error // the last one stays
		asked   int
		fails   bool
	}{
		{"at once", []error{nil}, 1, false},
		{"served a moment later", []error{apierrors.NewNotFound(configMaps, "c"), apierrors.NewNotFound(configMaps, "c"), nil}, 3, false},
		{"the server restarts", []error{syscall.ECONNREFUSED, apierrors.NewServiceUnavailable("soon"), apierrors.NewTooManyRequests("later", 1), nil}, 4, false},
		{"invalid", []error{apierrors.NewBadRequest("no"), nil}, 1, true},
		{"forbidden", []error{apierrors.NewForbidden(configMaps, "c", errors.New("no")), nil}, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				err := applyAnd(t, &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"namespace": "ns", "name": "c"}}},
					func(subresource string) error {
						asked++
						if subresource != "" {
							t.Errorf("%s is applied to an object that has none", subresource)
						}
						return test.answers[min(asked, len(test.answers))-1]
					})
				if asked != test.asked || (err != nil) != test.fails {
					t.Errorf("asked %d times, %v", asked, err)
				}
			})
		})
	}
}

// TestApplyAppliesStatusByItself: a status is not written with the object, where the server would leave it out.
func TestApplyAppliesStatusByItself(t *testing.T) {
	var written []string
	err := applyAnd(t, &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"namespace": "ns", "name": "c"},
		"status": object{"phase": "there"}}}, func(subresource string) error {
		written = append(written, "/"+subresource)
		return nil
	})
	if err != nil || strings.Join(written, " ") != "/ /status" {
		t.Errorf("%q, %v", written, err)
	}
}

func TestApplyRefusesUnknownKinds(t *testing.T) {
	err := applyAnd(t, &unstructured.Unstructured{Object: object{"apiVersion": "example.com/v1", "kind": "Nobody", "metadata": object{"name": "n"}}},
		func(string) error { return errors.New("asked") })
	if err == nil || !strings.Contains(err.Error(), "no resource is known") {
		t.Error(err)
	}
}

// TestApplyEndsWithItsContext: who waits for a server that does not come is let go, with what it said last.
func TestApplyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	k := scripted(func(string) error {
		cancel()
		return apierrors.NewServiceUnavailable("never")
	})
	err := apply(ctx, k, &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"namespace": "ns", "name": "c"}}})
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusServiceUnavailable {
		t.Error(err)
	}
}

func applyAnd(t *testing.T, o *unstructured.Unstructured, answer func(subresource string) error) error {
	t.Helper()
	return apply(t.Context(), scripted(answer), o)
}

// scripted answers every write itself.
func scripted(answer func(subresource string) error) dynamic.Interface {
	k := fake.NewSimpleDynamicClient(runtime.NewScheme())
	k.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "c"}}}, answer(action.GetSubresource())
	})
	return k
}
