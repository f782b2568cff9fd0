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
	all := map[string]string{}
	for _, name := range Names {
		all[annotations[name]] = "mine.example.com/" + name + "@sha256:1"
	}
	got, err := Explicit(all)
	if err != nil || got[Community] != "mine.example.com/community-operators@sha256:1" || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Explicit(nil); got != nil || err != nil {
		t.Errorf("without annotations: %v, %v", got, err)
	}
	all[annotations[RedHat]] = "mine.example.com/redhat:v4.21"
	if _, err := Explicit(all); err == nil || !strings.Contains(err.Error(), annotations[RedHat]) {
		t.Errorf("by a tag: %v", err)
	}
	delete(all, annotations[RedHat])
	if _, err := Explicit(all); err == nil || !strings.Contains(err.Error(), annotations[RedHat]) {
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
