// Package releasestream asks the release controllers which releases a stream has.
package releasestream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

const (
	// streamTimeout and streamLimit bound the question for the releases of a stream.
	streamTimeout = 30 * time.Second
	streamLimit   = 8 << 20
)

// Streams asks the release controllers, one for each architecture, which releases a stream has.
type Streams struct {
	HTTP *http.Client
	// Address of the controller of an architecture; tests replace it.
	Address func(arch string) string
}

// New asks OpenShift's own.
func New() *Streams {
	return &Streams{
		HTTP:    &http.Client{Timeout: streamTimeout},
		Address: func(arch string) string { return "https://" + arch + ".ocp.releases.ci.openshift.org" },
	}
}

// streamTag is one release of a stream.
type streamTag struct {
	Name     string `json:"name"`
	PullSpec string `json:"pullSpec"`
}

// streamArch is the architecture that a stream's name ends with.
func streamArch(stream string) string {
	for _, arch := range []string{"multi", "arm64", "ppc64le", "s390x"} {
		if strings.HasSuffix(stream, "-"+arch) {
			return arch
		}
	}
	return "amd64"
}

// Resolve is the newest release of the stream that the operator runs.
func (r *Streams) Resolve(ctx context.Context, stream string, minors []string) (string, error) {
	tags, err := r.tags(ctx, stream)
	if err != nil {
		return "", err
	}
	tags = slices.DeleteFunc(tags, func(t streamTag) bool { return strings.Contains(t.Name, "rc") })
	sort.SliceStable(tags, func(i, k int) bool { return newer(tags[i].Name, tags[k].Name) })
	for _, tag := range tags {
		if tag.PullSpec != "" && slices.ContainsFunc(minors, func(minor string) bool { return isMinor(tag.Name, minor) }) {
			return tag.PullSpec, nil
		}
	}
	return "", fmt.Errorf("--release-stream %s has no release that the operator runs (%s); choose another stream, or give --release-image", stream, strings.Join(minors, ", "))
}

func (r *Streams) tags(ctx context.Context, stream string) ([]streamTag, error) {
	address := r.Address(streamArch(stream)) + "/api/v1/releasestream/" + url.PathEscape(stream) + "/tags"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("--release-stream %s: %w", stream, err)
	}
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot read the releases of --release-stream %s: %w; give --release-image where the release controller is out of reach", stream, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the release controller answers %s for --release-stream %s; check the stream's name, or give --release-image", resp.Status, stream)
	}
	// A stream answers with all its releases, or with one.
	var answer struct {
		streamTag
		Tags []streamTag `json:"tags"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, streamLimit)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("the answer of %s is no list of releases: %w", address, err)
	}
	if len(answer.Tags) == 0 {
		return []streamTag{answer.streamTag}, nil
	}
	return answer.Tags, nil
}

// newer compares by version where both are one, else as texts.
func newer(a, b string) bool {
	left, leftErr := version.ParseSemantic(a)
	right, rightErr := version.ParseSemantic(b)
	if leftErr != nil || rightErr != nil {
		return a > b
	}
	return right.LessThan(left)
}

// isMinor tells whether a release is of the minor version; a name that is no version only has to contain it.
func isMinor(name, minor string) bool {
	v, err := version.ParseSemantic(name)
	if err != nil {
		return strings.Contains(name, minor)
	}
	return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) == minor
}
