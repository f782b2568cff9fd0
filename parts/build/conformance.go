package build

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// conformanceSet are the packages whose programs stand in images of the
// conformance tests, beside those that are built from modules.
var conformanceSet = packageSet{moduleConformance, []string{"apache2-bin", "bash", "bind9-dnsutils", "busybox", "ca-certificates", "curl", "iproute2", "libc-bin",
	"netcat-openbsd", "nginx", "nginx-common", "wget"}}

// conformancePrograms are Kubernetes' own tests, what runs them, and what
// their images hold.
func conformancePrograms() []Program {
	const images = "k8s.io/kubernetes/test/images/"
	flags := kubeFlags(KubernetesVersion)
	programs := []Program{
		{Name: "e2e.test", Package: "./e2e", Version: KubernetesVersion, LDFlags: flags},
		{Name: "ginkgo", Package: "github.com/onsi/ginkgo/v2/ginkgo", Version: "v2.28.1"},
		{Name: "agnhost", Package: images + "agnhost", Version: KubernetesVersion, LDFlags: flags},
		{Name: "nonewprivs", Package: images + "nonewprivs", Version: KubernetesVersion},
		{Name: "sample-apiserver", Package: "k8s.io/sample-apiserver", Version: "v0.34.2", LDFlags: flags},
	}
	for i := range programs {
		programs[i].Module = moduleConformance
	}
	return programs
}

// Conformance is what Kubernetes' own end-to-end tests are run with.
type Conformance struct {
	Bin    string      // directory of e2e.test, ginkgo, agnhost, nonewprivs and sample-apiserver
	Source string      // directory of Kubernetes' source, which has files of some images
	Debian *DebianRoot // packages whose programs stand in images
}

// Conformance builds what Kubernetes' own end-to-end tests of KubernetesVersion
// are run with. It takes minutes, once: the suite is the largest of the parts,
// and no other needs it.
func (t Target) Conformance(ctx context.Context, cache string, progress func(Event)) (Conformance, error) {
	var c Conformance
	b := newBuilder(cache, t, progress)
	b.programs, b.sets = conformancePrograms(), moduleConformance
	var err error
	if c.Bin, err = b.build(ctx, nil); err != nil {
		return c, err
	}
	if c.Source, err = b.moduleDir(ctx, moduleConformance, "k8s.io/kubernetes"); err != nil {
		return c, err
	}
	c.Debian, err = t.packages(ctx, cache, conformanceSet, progress)
	return c, err
}

// moduleDir is where the go command keeps the source of a module that another
// is built with.
func (b *builder) moduleDir(ctx context.Context, module, path string) (string, error) {
	dir, err := unpack(b.fsys, module, nil, b.cache)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	said, err := b.goRun(ctx, dir, []string{"list", "-m", "-f", "{{.Dir}}", path}, &out, func(string) {})
	if err != nil {
		return "", explain(ctx, module, path, said, err)
	}
	source := strings.TrimSpace(out.String())
	if !filepath.IsAbs(source) {
		return "", fmt.Errorf("the source of %s is not in the module cache any more: fetch it with: cd %s && go mod download %s", path, dir, path)
	}
	return source, nil
}
