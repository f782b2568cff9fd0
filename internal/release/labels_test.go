package release_test

import (
	"errors"
	"maps"
	"net/http"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

func TestLabels(t *testing.T) {
	registry := releasetest.New(t)
	cache := release.NewLabelCache(release.Reader{})
	image := registry.PushOperator(t, map[string]string{release.LabelRestricted: "true", "maintainer": "somebody", release.LabelPrefix + "subcommands": "x"})
	want := map[string]string{release.LabelRestricted: "true", release.LabelPrefix + "subcommands": "x"}
	for range 2 {
		got, err := cache.Labels(t.Context(), image, release.Access{})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("labels %v, %v", got, err)
		}
		// What is known by its digest is not asked for again.
		registry.Answer(http.StatusInternalServerError)
	}
	var failure *release.Error
	if _, err := cache.Labels(t.Context(), image, release.Access{PullSecret: []byte("{}")}); !errors.As(err, &failure) || !failure.Transient() {
		t.Errorf("with another pull secret: %v", err)
	}
	registry.Answer(http.StatusForbidden)
	if _, err := cache.Labels(t.Context(), registry.Reference("other"), release.Access{}); !errors.As(err, &failure) || failure.Reason != release.ReasonUnauthorized {
		t.Errorf("refused: %v", err)
	}
	registry.Answer(0)
	if _, err := cache.Labels(t.Context(), registry.Reference("other"), release.Access{}); !errors.As(err, &failure) || failure.Reason != release.ReasonNotFound {
		t.Errorf("absent: %v", err)
	}
	mirror := release.Access{Mirrors: []release.Mirror{{Source: "quay.invalid/ocp", Mirrors: []string{image[:len(image)-len("/operator@sha256:")-64]}}}}
	if got, err := cache.Labels(t.Context(), "quay.invalid/ocp/operator"+image[len(image)-len("@sha256:")-64:], mirror); err != nil || !maps.Equal(got, want) {
		t.Errorf("from a mirror: %v, %v", got, err)
	}
}

func TestParseLabels(t *testing.T) {
	got, err := release.ParseLabels("a.b/c=true, d==,e=")
	if err != nil || !maps.Equal(got, map[string]string{"a.b/c": "true", "d": "=", "e": ""}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "a", "a=b,", "=b", " =b"} {
		if got, err := release.ParseLabels(text); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
}
