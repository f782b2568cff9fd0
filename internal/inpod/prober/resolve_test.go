package prober

import (
	"context"
	"errors"
	"testing"
)

func TestResolve(t *testing.T) {
	answers := []struct {
		addresses []string
		err       error
	}{{nil, errors.New("no such host")}, {[]string{"10.0.0.1"}, nil}, {[]string{"10.0.0.1", "10.0.0.2"}, nil}}
	asked := 0
	lookup := func(_ context.Context, name string) ([]string, error) {
		if name != "etcd-0.etcd-discovery" {
			t.Errorf("looked %s up", name)
		}
		answer := answers[asked]
		asked++
		return answer.addresses, answer.err
	}
	if err := (ResolveOptions{Name: "etcd-0.etcd-discovery", Address: "10.0.0.2"}).resolve(t.Context(), lookup); err != nil || asked != 3 {
		t.Errorf("after %d lookups: %v", asked, err)
	}
	asked = 0
	if err := (ResolveOptions{Name: "etcd-0.etcd-discovery"}).resolve(t.Context(), lookup); err != nil || asked != 2 {
		t.Errorf("any address: after %d lookups: %v", asked, err)
	}
	if err := Resolve(t.Context(), ResolveOptions{}); err == nil {
		t.Error("nothing to look up is accepted")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	asked = 0
	if err := (ResolveOptions{Name: "etcd-0.etcd-discovery"}).resolve(ended, lookup); !errors.Is(err, context.Canceled) {
		t.Errorf("when it must end: %v", err)
	}
}
