package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

func TestCandidates(t *testing.T) {
	const redhat = "registry.redhat.io/redhat/redhat-operator-index:v4."
	for name, test := range map[string]struct {
		of, overrides string
		want          []string
	}{
		"a release":          {of: "4.21.3", want: []string{redhat + "21", redhat + "20", redhat + "19", redhat + "18"}},
		"the newest":         {of: "4.22.0-rc.1", want: []string{redhat + "22", redhat + "21", redhat + "20", redhat + "19"}},
		"a newer one":        {of: "4.23.0", want: []string{redhat + "22", redhat + "21", redhat + "20", redhat + "19"}},
		"another major one":  {of: "5.0.1", want: []string{redhat + "22", redhat + "21", redhat + "20", redhat + "19"}},
		"another registry's": {of: "4.1.0", overrides: "quay.io=a.example.com", want: []string{redhat + "1", redhat + "0"}},
		"copies": {of: "4.1.0", overrides: "registry.redhat.io=a.example.com,registry.redhat.io/redhat=b.example.com/mine", want: []string{
			"b.example.com/mine/redhat-operator-index:v4.1", "a.example.com/redhat/redhat-operator-index:v4.1",
			"b.example.com/mine/redhat-operator-index:v4.0", "a.example.com/redhat/redhat-operator-index:v4.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Candidates(RedHat, test.of, test.overrides)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%v, %v; want %v", got, err, test.want)
			}
		})
	}
	if got, err := Candidates(RedHat, "latest", ""); err == nil {
		t.Errorf("of no version: %v", got)
	}
	if got, err := Candidates(RedHat, "4.21.0", "nothing"); err == nil {
		t.Errorf("of a malformed override: %v", got)
	}
}

func TestExplicit(t *testing.T) {
	named := map[string]string{}
	for _, c := range Of(&hyperv1.HostedControlPlane{}, "5.0.0") {
		named[c.annotation] = "mine.example.com/" + c.Name + "@sha256:1"
	}
	got, err := Explicit(named)
	if err != nil || got[Community] != "mine.example.com/community-operators@sha256:1" || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Explicit(nil); got != nil || err != nil {
		t.Errorf("without annotations: %v, %v", got, err)
	}
	named[hyperv1.RedHatOperatorsCatalogAnnotation] = "mine.example.com/redhat:v4.21"
	if _, err := Explicit(named); err == nil || !strings.Contains(err.Error(), hyperv1.RedHatOperatorsCatalogAnnotation) {
		t.Errorf("by a tag: %v", err)
	}
	delete(named, hyperv1.RedHatOperatorsCatalogAnnotation)
	if _, err := Explicit(named); err == nil || !strings.Contains(err.Error(), hyperv1.RedHatOperatorsCatalogAnnotation) {
		t.Errorf("two of three: %v", err)
	}
}

// registries answer for images; one without an answer does not exist.
type registries struct {
	mu      sync.Mutex
	digests map[string]string
	failing error
	delay   time.Duration
	asked   []string
}

func (r *registries) digest(_ context.Context, image string, _ release.Access) (string, error) {
	time.Sleep(r.delay)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, image)
	if r.failing != nil {
		return "", r.failing
	}
	if digest, ok := r.digests[image]; ok {
		return digest, nil
	}
	return "", &release.Error{Image: image, Reason: release.ReasonNotFound, Cause: errors.New("manifest unknown")}
}

const older = "registry.redhat.io/redhat/certified-operator-index:v4.20"

func TestFinder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registries{digests: map[string]string{older: "sha256:20"}}
		f := &Finder{Digest: r.digest}
		find := func() (string, error) {
			return f.Find(t.Context(), Certified, "4.21.0", &hyperv1.HostedControlPlane{}, release.Access{})
		}
		const found = "registry.redhat.io/redhat/certified-operator-index@sha256:20"
		for range 3 {
			if got, err := find(); got != found || err != nil {
				t.Fatalf("%s, %v", got, err)
			}
		}
		if len(r.asked) != 2 {
			t.Errorf("the registry was asked %v", r.asked)
		}
		// The tag moves; until the registry has said so, the former image stays.
		r.digests[older], r.delay = "sha256:21", time.Second
		time.Sleep(lifetime)
		if got, err := find(); got != found || err != nil {
			t.Errorf("while it is looked for: %s, %v", got, err)
		}
		time.Sleep(5 * time.Second)
		if got, _ := find(); got != strings.ReplaceAll(found, "20", "21") {
			t.Errorf("after the tag has moved: %s", got)
		}
		// A registry that is away takes nothing.
		r.failing = &release.Error{Image: older, Reason: release.ReasonUnreachable, Cause: errors.New("away")}
		time.Sleep(lifetime)
		find()
		time.Sleep(5 * time.Second)
		if got, err := find(); got != strings.ReplaceAll(found, "20", "21") || err != nil {
			t.Errorf("while the registry is away: %s, %v", got, err)
		}
	})
}

func TestFinderTellsOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &registries{failing: &release.Error{Image: older, Reason: release.ReasonUnreachable, Cause: errors.New("away")}}
		f := &Finder{Digest: r.digest}
		for range 3 {
			if _, err := f.Find(t.Context(), Certified, "4.21.0", &hyperv1.HostedControlPlane{}, release.Access{}); err == nil || !strings.Contains(err.Error(), "away") {
				t.Errorf("%v", err)
			}
		}
		if len(r.asked) != 1 {
			t.Errorf("an older catalog takes the place of one that is away, or the registry is asked all the time: %v", r.asked)
		}
		r.delay, r.failing = time.Minute, nil
		began := time.Now()
		if _, err := f.Find(t.Context(), RedHat, "4.21.0", &hyperv1.HostedControlPlane{}, release.Access{}); err == nil || time.Since(began) != patience {
			t.Errorf("a silent registry: %v after %s", err, time.Since(began))
		}
		time.Sleep(10 * time.Minute)
	})
}

// TestInGuest: the version, the overrides and the annotations decide; half of the annotations, or a tag, are an error.
func TestInGuest(t *testing.T) {
	const overrides = hyperv1.OLMCatalogRegistryOverridesAnnotation
	all := map[string]string{hyperv1.RedHatOperatorsCatalogAnnotation: "mine/r@sha256:1", hyperv1.CommunityOperatorsCatalogAnnotation: "mine/c@sha256:2",
		hyperv1.CertifiedOperatorsCatalogAnnotation: "mine/e@sha256:3"}
	for _, test := range []struct {
		version     string
		annotations map[string]string
		want, cue   string
	}{
		{"4.21.3", nil, "registry.redhat.io/redhat/redhat-operator-index:v4.21", ""},
		{"4.23.0-rc.1", nil, "registry.redhat.io/redhat/redhat-operator-index:v4.22", ""},
		{"5.0.1", nil, "registry.redhat.io/redhat/redhat-operator-index:v4.22", ""},
		{"4.18.0", map[string]string{overrides: "quay.io=other,registry.redhat.io=mirror.example.com"}, "mirror.example.com/redhat/redhat-operator-index:v4.18", ""},
		{"4.18.0", map[string]string{overrides: "registry.redhat.io/redhat=mirror.example.com/olm"}, "mirror.example.com/olm/redhat-operator-index:v4.18", ""},
		{"4.18.0", map[string]string{overrides: "registry.redhat.io"}, "", overrides},
		{"any", all, "mine/r@sha256:1", ""},
		{"4.18.0", map[string]string{hyperv1.RedHatOperatorsCatalogAnnotation: "mine/r@sha256:1"}, "", "is missing"},
		{"4.18.0", map[string]string{hyperv1.RedHatOperatorsCatalogAnnotation: "mine/r:v1"}, "", "names no digest"},
		{"latest", nil, "", "version \"latest\""},
	} {
		hcp := &hyperv1.HostedControlPlane{}
		hcp.Annotations = test.annotations
		got, err := InGuest(hcp, test.version)
		if got["redhat-operators"] != test.want || (err == nil) != (test.cue == "") || err != nil && !strings.Contains(err.Error(), test.cue) {
			t.Errorf("%s %v: %v, %v; want %q %q", test.version, test.annotations, got, err, test.want, test.cue)
		}
	}
}

// TestMarketplace: until 4.21 there is one catalog more, whose image nobody can name otherwise.
func TestMarketplace(t *testing.T) {
	own := map[string]string{hyperv1.RedHatOperatorsCatalogAnnotation: "mine/r@sha256:1", hyperv1.CommunityOperatorsCatalogAnnotation: "mine/c@sha256:2",
		hyperv1.CertifiedOperatorsCatalogAnnotation: "mine/e@sha256:3"}
	for _, test := range []struct {
		version     string
		annotations map[string]string
		want        bool
	}{{"4.18.0", nil, true}, {"4.21.9", nil, true}, {"4.22.0-rc.0", nil, false}, {"5.0.0", nil, false}, {"4.18.0", own, false}, {"any", nil, false}} {
		hcp := &hyperv1.HostedControlPlane{}
		hcp.Annotations = test.annotations
		if got := Has(hcp, test.version, Marketplace); got != test.want {
			t.Errorf("%s %v: %t", test.version, test.annotations, got)
		}
		if images, err := InGuest(hcp, test.version); test.version != "any" && (err != nil || (images[Marketplace] != "") != test.want) {
			t.Errorf("%s %v: %v, %v", test.version, test.annotations, images, err)
		}
	}
	if got, err := Candidates(Marketplace, "4.15.0", ""); err != nil || got[0] != "registry.redhat.io/redhat/redhat-marketplace-index:v4.15" {
		t.Errorf("%v, %v", got, err)
	}
}
