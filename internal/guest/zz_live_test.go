package guest

import (
	"context"
	"os"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestLive(t *testing.T) {
	kc := os.Getenv("LIVE")
	if kc == "" {
		t.Skip()
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := Bootstrap(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	r := &resourceReconciler{guest: c, applied: map[string]applied{}}
	for range 2 {
		for _, obj := range Objects(plainFacts()) {
			if err := r.ensure(context.Background(), obj); err != nil {
				t.Error(err)
			}
		}
	}
}
