package controlplane

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
)

// renderedKinds are what programs are made of, told of and allowed.
var renderedKinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"), batchv1.SchemeGroupVersion.WithKind("Job"),
	batchv1.SchemeGroupVersion.WithKind("CronJob"), rbacv1.SchemeGroupVersion.WithKind("Role"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
}

// checkVersions asserts the tables with payloads of other versions, of either availability. What a version makes otherwise than testVersion does,
// in every line of every object, is besides held by testdata/openshift, in both directions.
func checkVersions(t *testing.T, rows *table.Table, secrets []corev1.Secret, usual map[string][]string) {
	for _, version := range []string{testVersion, "4.18.0", "5.0.0"} {
		for _, policy := range []hyperv1.AvailabilityPolicy{hyperv1.SingleReplica, hyperv1.HighlyAvailable} {
			if version == testVersion && policy == hyperv1.HighlyAvailable {
				continue // what the others are compared with
			}
			name := strings.ToLower(version + "-" + string(policy))
			t.Run(name, func(t *testing.T) {
				f := newFixture(t)
				f.payload.Version = version
				f.hcp = inNamespace("openshift-" + strings.ReplaceAll(name, ".", "-"))
				f.hcp.Spec.ControllerAvailabilityPolicy = policy
				f.hcp.Spec.KubeAPIServerDNSName = customName
				f.hcp.Spec.Monitoring = forwarding
				f.withOpenShift(append([]string{"cluster-autoscaler"}, imagesSince[version]...)...)
				f.beginOpenShift(secrets...)
				f.publishedPasses()
				f.pass()
				f.checkWorkloads(rows, planeOf[policy])
				f.checkEndpoints(rows, planeLoadBalancer, planeForwarding)
				f.checkPublishing(rows, planeLoadBalancer)
				f.checkAuthorities(rows)
				f.checkCertificates(rows)
				f.checkKubeconfigs(rows)
				f.condition(hyperv1.ValidReleaseInfo, "True", hyperv1.AsExpectedReason)
				if policy == hyperv1.HighlyAvailable {
					f.golden("openshift/"+version+".txt", difference(usual, f.rendered()))
				}
			})
		}
	}
}

// planeOf is the plane of the table that an availability is like.
var planeOf = map[hyperv1.AvailabilityPolicy]string{hyperv1.HighlyAvailable: planeHA, hyperv1.SingleReplica: planeSingle}

// imagesSince are images that only a version has.
var imagesSince = map[string][]string{"5.0.0": {"haproxy-router-haproxy28", "haproxy-router-haproxy32"}}

// rendered are the lines of all that is in the control-plane namespace, as if it were of testVersion, by kind and name.
func (f *fixture) rendered() map[string][]string {
	f.Helper()
	out := map[string][]string{}
	usual := strings.NewReplacer(f.payload.Version, testVersion, f.hcp.Namespace, "<cpns>")
	chosen := regexp.MustCompile(`(controller-uid|desired-pods|schedule): .*|10\.0\.0\.[0-9]+`)
	for _, kind := range renderedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		f.list(list)
		for i := range list.Items {
			text, err := yaml.Marshal(lasting(list.Items[i].Object))
			if err != nil {
				f.Fatal(err)
			}
			out[kind.Kind+"/"+list.Items[i].GetName()] = strings.Split(chosen.ReplaceAllString(usual.Replace(string(text)), "-"), "\n")
		}
	}
	return out
}

// difference tells which lines objects have more, and which less.
func difference(before, after map[string][]string) []byte {
	names := maps.Clone(before)
	maps.Copy(names, after)
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(names)) {
		more, less := without(after[name], before[name]), without(before[name], after[name])
		if len(more)+len(less) > 0 {
			fmt.Fprintf(&text, "%s\n", name)
		}
		for _, line := range less {
			fmt.Fprintf(&text, "- %s\n", strings.TrimSpace(line))
		}
		for _, line := range more {
			fmt.Fprintf(&text, "+ %s\n", strings.TrimSpace(line))
		}
	}
	return text.Bytes()
}

// without are the lines that others do not have, each as often as it is there more often.
func without(lines, others []string) []string {
	have := map[string]int{}
	for _, line := range others {
		have[line]++
	}
	var out []string
	for _, line := range lines {
		if have[line]--; have[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}
