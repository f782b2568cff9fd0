package component

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// What makes pods itself is told of the management cluster's way out and user; so is a proxy that goes straight to the cloud.
func TestManagementSide(t *testing.T) {
	ctx := testContext(t)
	if got := append(ctx.Settings.ManagementProxy(), ctx.Settings.RunAsUser()...); len(got) != 0 {
		t.Errorf("without a proxy and a user: %v", got)
	}
	ctx.Settings = Settings{UID: ptr.To[int64](1001), Cloud: func(template *corev1.PodTemplateSpec) {
		template.Spec.Containers[0].Env = Environment("HTTPS_PROXY", "http://squid:3128", "SSL_CERT_DIR", "/trust")
	}}
	if got := fmt.Sprint(ctx.Settings.ManagementProxy(), ctx.Settings.RunAsUser()); got != "[{HTTPS_PROXY http://squid:3128 nil}] [{RUN_AS_USER 1001 nil}]" {
		t.Errorf("told %s", got)
	}
	for _, direct := range []bool{false, true} {
		spec := &corev1.PodSpec{}
		proxy := TunnelProxy{}
		if direct {
			proxy.Flags = []string{DirectToCloud}
		}
		AddHTTPSProxy(ctx, spec, proxy)
		if has := slices.ContainsFunc(spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "HTTPS_PROXY" }); has != direct {
			t.Errorf("direct to the cloud: %t, with the management cluster's proxy: %t", direct, has)
		}
	}
}
