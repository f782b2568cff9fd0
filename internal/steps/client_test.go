package steps

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestWritesAreNotedWithTheStepThatMakesThem(t *testing.T) {
	c := Recording(fake.NewFakeClient())
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string][]byte{"key": []byte("hidden")}}
	}
	plan := NewPlan("test",
		Step[*journal]{ID: "make", Run: func(_ *journal, ctx context.Context) error { return c.Create(ctx, secret("a")) }},
		Step[*journal]{ID: "again", Run: func(_ *journal, ctx context.Context) error { return c.Create(ctx, secret("a")) }},
		Step[*journal]{ID: "read", Run: func(_ *journal, ctx context.Context) error {
			return c.Get(ctx, client.ObjectKeyFromObject(secret("a")), &corev1.Secret{})
		}},
		Step[*journal]{ID: "remove", Run: func(_ *journal, ctx context.Context) error { return c.Delete(ctx, secret("a")) }},
	)
	results := plan.Run(context.Background(), "", &journal{}).Results()
	for i, want := range [][]string{{"create Secret ns/a"}, nil, nil, {"delete Secret ns/a"}} {
		if !slices.Equal(results[i].Writes, want) {
			t.Errorf("%s wrote %q, want %q", results[i].ID, results[i].Writes, want)
		}
	}
	if err := c.Create(context.Background(), secret("b")); err != nil {
		t.Errorf("outside of a pass: %v", err)
	}
}
