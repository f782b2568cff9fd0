package catalogs

import (
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
)

func view() *component.Context {
	ctx := planetest.View(planetest.Plane())
	ctx.Payload, ctx.GuestVersion = release.KindOpenShift, "4.21.0"
	return ctx
}

func TestWhereCatalogsRun(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*hyperv1.HostedControlPlaneSpec)
		want   bool
	}{
		"by default":   {func(*hyperv1.HostedControlPlaneSpec) {}, true},
		"in the guest": {func(s *hyperv1.HostedControlPlaneSpec) { s.OLMCatalogPlacement = hyperv1.GuestOLMCatalogPlacement }, false},
		"nowhere": {func(s *hyperv1.HostedControlPlaneSpec) {
			s.Configuration = &hyperv1.ClusterConfiguration{OperatorHub: &hyperv1.OperatorHubSpec{DisableAllDefaultSources: true}}
		}, false},
	} {
		ctx := view()
		test.change(&ctx.HCP.Spec)
		for _, which := range catalog.Of(ctx.HCP, ctx.GuestVersion) {
			if got := Component(which.Name).Enabled(ctx); got != test.want {
				t.Errorf("%s, %s: %t", which.Name, name, got)
			}
		}
		ctx.GuestVersion = "4.22.0"
		if Component(catalog.Marketplace).Enabled(ctx) {
			t.Error("a release has a catalog that it was taken out of")
		}
	}
}

func TestCatalogWaitsForItsImage(t *testing.T) {
	ctx, away := view(), errors.New("away")
	ctx.Catalog = func(string) (string, error) { return "", away }
	_, err := Component(catalog.RedHat).Objects(ctx)
	var waits *component.WaitingError
	if !errors.As(err, &waits) || !errors.Is(err, away) {
		t.Errorf("%v", err)
	}
}

// The image of a catalog has a cache below /tmp: what is mounted over it would hide it. The other containers have the volume.
func TestCacheIsNotHidden(t *testing.T) {
	ctx := view()
	ctx.Catalog = func(name string) (string, error) { return "mine.example.com/" + name + "@sha256:1", nil }
	c := Component(catalog.Certified)
	objects, err := c.Objects(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d := objects[0].(*appsv1.Deployment)
	if err := component.Stamp(ctx.HCP, ctx.Settings, c.Name, c.Traits, d); err != nil {
		t.Fatal(err)
	}
	spec := d.Spec.Template.Spec
	for _, one := range slices.Concat(spec.InitContainers, spec.Containers) {
		hidden := slices.ContainsFunc(one.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/tmp" })
		if hidden == (one.Name == extractContent) {
			t.Errorf("%s: a volume is mounted at /tmp: %t", one.Name, hidden)
		}
	}
	service, registry := objects[1].(*corev1.Service), spec.Containers[0]
	if service.Spec.Selector[selector] != catalog.Certified || d.Spec.Template.Labels[selector] != catalog.Certified || service.Spec.Ports[0].Name != "grpc" {
		t.Errorf("Service %+v does not lead to pods %v", service.Spec, d.Spec.Template.Labels)
	}
	for what, probe := range map[string][5]int32{"live": numbers(registry.LivenessProbe), "ready": numbers(registry.ReadinessProbe), "startup": numbers(registry.StartupProbe)} {
		want := map[string][5]int32{"live": {10, 10, 1, 3}, "ready": {5, 10, 5, 3}, "startup": {0, 10, 1, 15}}[what]
		if probe != want {
			t.Errorf("%s: %v, want %v", what, probe, want)
		}
	}
	if !slices.Equal(registry.LivenessProbe.Exec.Command, []string{"grpc_health_probe", "-addr=:50051"}) {
		t.Errorf("%v", registry.LivenessProbe.Exec.Command)
	}
}

func numbers(p *corev1.Probe) [5]int32 {
	return [5]int32{p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold}
}
