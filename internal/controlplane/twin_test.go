package controlplane

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/kube/kubetest"
	"github.com/hypershift-on-azure/hypershift/twin"
)

// realPrograms are those of a twin that are no checkers: the community's.
var realPrograms = map[string]bool{
	"etcd": true, "kube-controller-manager": true, "kube-scheduler": true, "proxy-server": true, "proxy-agent": true, "azure-cloud-controller-manager": true,
	"azure-workload-identity-webhook": true, "haproxy": true, "sleep": true, "cp": true, "sh": true, "bash": true,
	// This project's own, copied into a volume: the ignition server runs in an image of the payload.
	"control-plane-operator": true,
}

// TestTwin: what is rendered for OpenShift's programs is what the checkers of a twin payload know of them, in every version and with either
// availability. The checkers' table is written from what is documented of the programs: where the two differ, one of them is wrong.
func TestTwin(t *testing.T) {
	programs, err := twin.Programs()
	if err != nil {
		t.Fatal(err)
	}
	var secrets []corev1.Secret
	for _, version := range []string{"4.18.0", "4.21.0", "4.22.0", "5.0.0"} {
		for _, policy := range []hyperv1.AvailabilityPolicy{hyperv1.SingleReplica, hyperv1.HighlyAvailable} {
			name := strings.ToLower(version + "-" + string(policy))
			t.Run(name, func(t *testing.T) {
				f := beginTwin(t, name, version, secrets, func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.ControllerAvailabilityPolicy = policy })
				f.checkTwin(programs)
				if secrets == nil {
					list := &corev1.SecretList{}
					f.list(list)
					secrets = slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return s.Name == etcdKey.Name })
				}
			})
		}
	}
	t.Run("tls", func(t *testing.T) {
		f := beginTwin(t, "tls", "5.0.0", secrets, func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{APIServer: &runtime.RawExtension{Raw: []byte(`{"tlsSecurityProfile":{"type":"Modern","modern":{}}}`)}}
		})
		f.checkTwin(programs)
		f.checkTLS()
	})
}

// beginTwin has the control plane of a payload of OpenShift's made, with everything that it can have.
func beginTwin(t *testing.T, name, version string, secrets []corev1.Secret, configure func(*hyperv1.HostedControlPlane)) *fixture {
	t.Helper()
	f := newFixture(t)
	f.payload.Version = version
	f.hcp = inNamespace("twin-" + strings.ReplaceAll(name, ".", "-"))
	openShiftPlanes[planeEncrypted](f.hcp)
	configure(f.hcp)
	f.withOpenShift(append([]string{"cluster-autoscaler", "volume-data-source-validator"}, guestKeys...)...)
	f.beginOpenShift(append(slices.Clone(secrets), etcdKey)...)
	f.publishedPasses()
	f.pass()
	return f
}

// ofThePlaneAlone are containers that only the control plane talks to, whatever profile the user chooses.
var ofThePlaneAlone = map[string]bool{"etcd": true, "etcd-metrics": true, "healthz": true, "konnectivity-server": true}

// checkTLS: every server that is told what to take at least is told that TLS 1.3 is the least, and is given no suites of lesser versions.
func (f *fixture) checkTLS() {
	f.Helper()
	lesser := regexp.MustCompile(`VersionTLS1[0-2]|TLS_ECDHE`)
	told := 0
	check := func(what, text string) {
		if found := lesser.FindString(text); found != "" {
			f.Errorf("%s says %s", what, found)
		}
		told += strings.Count(text, "VersionTLS13")
	}
	for name, w := range f.workloads() {
		for _, c := range slices.Concat(w.template.Spec.InitContainers, w.template.Spec.Containers) {
			if !ofThePlaneAlone[c.Name] {
				check(name+"/"+c.Name, strings.Join(slices.Concat(c.Command, c.Args), " "))
			}
		}
	}
	files := &corev1.ConfigMapList{}
	f.list(files)
	for _, file := range files.Items {
		for key, text := range file.Data {
			check("ConfigMap "+file.Name+", "+key, text)
		}
	}
	if told < 15 {
		f.Errorf("TLS 1.3 is asked for %d times", told)
	}
}

// checkTwin has every container judged that runs a program of the payload, and sees that every program is run.
func (f *fixture) checkTwin(programs []twin.Program) {
	f.Helper()
	seen := map[string]bool{}
	workloads := f.workloads()
	for _, name := range slices.Sorted(maps.Keys(workloads)) {
		spec := workloads[name].template.Spec
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			p, args := programOf(programs, c)
			if p == nil {
				if program := path.Base(slices.Concat(c.Command, []string{"entry point"})[0]); keyOf(c.Image) != "" && !realPrograms[program] && !ofClusterAPI(name) {
					f.Errorf("%s/%s runs %s of image %s, for which there is neither a checker nor a program", name, c.Name, program, keyOf(c.Image))
				}
				continue
			}
			seen[p.Name] = true
			start := f.start(spec, c, args)
			for _, wrong := range p.Check(start) {
				f.Errorf("%s/%s, %s: %v", name, c.Name, p.Name, wrong)
			}
			f.checkProbes(name, *p, c)
			if p.Real {
				f.checkHandedOver(start)
			}
			if key := keyOf(c.Image); key != p.Image && p.Name != "opm" && p.Name != "copy-content" {
				f.Errorf("%s/%s: %s is started of image %s, want %s", name, c.Name, p.Name, key, p.Image)
			}
		}
	}
	for _, p := range programs {
		if !seen[p.Name] && !(p.Name == "authentication-operator" && strings.HasPrefix(f.payload.Version, "4.18")) {
			f.Errorf("no container runs %s", p.Name)
		}
	}
}

func ofClusterAPI(workload string) bool {
	return strings.HasSuffix(workload, "/cluster-api") || strings.HasSuffix(workload, "/capi-provider")
}

// keyOf is the payload's key of an image, "" for an image that is none of its.
func keyOf(image string) string {
	if !strings.HasPrefix(image, "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:") {
		return ""
	}
	return image[strings.LastIndex(image, ":")+1:]
}

// programOf is the program with a checker that a container runs, at the end of a script if need be, with its arguments.
func programOf(programs []twin.Program, c corev1.Container) (*twin.Program, []string) {
	if len(c.Command) == 0 {
		i := slices.IndexFunc(programs, func(p twin.Program) bool { return p.EntryPoint && p.Image == keyOf(c.Image) })
		if i < 0 {
			return nil, nil
		}
		return &programs[i], c.Args
	}
	words := slices.Concat(c.Command, c.Args)
	if len(words) > 2 && words[1] == "-c" {
		return inScript(programs, words[2], words[3:])
	}
	return twin.Find(programs, path.Base(words[0])), words[1:]
}

// inScript finds the line of a script that starts a program, and what the words of the line are.
func inScript(programs []twin.Program, script string, args []string) (*twin.Program, []string) {
	for line := range strings.Lines(script) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "exec "))
		if len(words) == 0 || !strings.HasPrefix(words[0], "/usr/bin/") {
			continue
		}
		p := twin.Find(programs, path.Base(words[0]))
		var given []string
		for _, word := range words[1:] {
			switch word = strings.ReplaceAll(word, `"`, ""); {
			case word == "$@":
				given = append(given, args[1:]...)
			default:
				given = append(given, strings.NewReplacer("$1", args[len(args)-1], "$PAYLOAD_VERSION", "$(PAYLOAD_VERSION)").Replace(word))
			}
		}
		return p, given
	}
	return nil, nil
}

var reference = regexp.MustCompile(`\$\(([A-Z0-9_]+)\)`)

// start is what a program of the container would be given.
func (f *fixture) start(pod corev1.PodSpec, c corev1.Container, args []string) twin.Start {
	s := twin.Start{Env: map[string]string{}, Release: f.payload.Version, Image: keyOf, Strict: true}
	for _, env := range c.Env {
		s.Env[env.Name] = env.Value
		if env.ValueFrom != nil {
			s.Env[env.Name] = f.hcp.Namespace
		}
	}
	for _, arg := range args {
		s.Args = append(s.Args, reference.ReplaceAllStringFunc(arg, func(name string) string { return s.Env[name[2:len(name)-1]] }))
	}
	s.Read = func(file string) ([]byte, error) { return f.mounted(pod, c, file) }
	return s
}

// mounted reads a file as the container finds it.
func (f *fixture) mounted(pod corev1.PodSpec, c corev1.Container, file string) ([]byte, error) {
	var at *corev1.VolumeMount
	for i, m := range c.VolumeMounts {
		if inside := file == path.Clean(m.MountPath) || strings.HasPrefix(file, path.Clean(m.MountPath)+"/"); inside && (at == nil || len(m.MountPath) > len(at.MountPath)) {
			at = &c.VolumeMounts[i]
		}
	}
	if at == nil {
		return nil, fmt.Errorf("nothing is mounted at %s", file)
	}
	key := strings.TrimPrefix(strings.TrimPrefix(file, path.Clean(at.MountPath)), "/")
	if at.SubPath != "" {
		key = at.SubPath
	}
	volume := pod.Volumes[slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == at.Name })]
	switch {
	case volume.Secret != nil:
		secret := &corev1.Secret{}
		err := f.client.Get(f.Context(), client.ObjectKey{Namespace: f.hcp.Namespace, Name: volume.Secret.SecretName}, secret)
		return content(secret.Data, volume.Secret.Items, key, err)
	case volume.ConfigMap != nil:
		files, data := &corev1.ConfigMap{}, map[string][]byte{}
		err := f.client.Get(f.Context(), client.ObjectKey{Namespace: f.hcp.Namespace, Name: volume.ConfigMap.Name}, files)
		for name, text := range files.Data {
			data[name] = []byte(text)
		}
		return content(data, volume.ConfigMap.Items, key, err)
	case volume.EmptyDir != nil, volume.Projected != nil:
		return nil, twin.ErrLater
	}
	return nil, fmt.Errorf("volume %s has no files", volume.Name)
}

// content gives a file of a Secret or ConfigMap, as its volume has it.
func content(data map[string][]byte, items []corev1.KeyToPath, file string, err error) ([]byte, error) {
	for _, item := range items {
		if item.Path == file {
			file = item.Key
			items = nil
			break
		}
	}
	if raw, there := data[file]; err == nil && there && len(items) == 0 {
		return raw, nil
	}
	return nil, errors.Join(err, fmt.Errorf("there is no file %s", file))
}

// checkHandedOver: the community's API server knows every flag that the checker makes of OpenShift's configuration for it.
func (f *fixture) checkHandedOver(start twin.Start) {
	f.Helper()
	raw, err := start.Read(strings.TrimPrefix(start.Args[1], "--openshift-config="))
	if err != nil {
		f.Fatal(err)
	}
	args, err := twin.APIServerArgs(raw)
	if err != nil {
		f.Fatal(err)
	}
	server := kubetest.Program(f, "kube-apiserver")
	help, err := exec.CommandContext(f.Context(), server, "--help").CombinedOutput()
	if err != nil {
		f.Fatal(err)
	}
	if out, err := exec.CommandContext(f.Context(), server, append(twin.WithoutGates(args, string(help)), "--help")...).CombinedOutput(); err != nil {
		f.Errorf("the API server refuses its flags: %v: %.500s", err, out)
	}
}

// checkProbes: what asks for a container's health asks where the program answers.
func (f *fixture) checkProbes(name string, p twin.Program, c corev1.Container) {
	f.Helper()
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe == nil || probe.HTTPGet == nil || p.Real {
			continue
		}
		asked, _, _ := strings.Cut(probe.HTTPGet.Path, "?")
		if !p.Answers(probe.HTTPGet.Port.IntValue(), asked, probe.HTTPGet.Scheme == corev1.URISchemeHTTPS) {
			f.Errorf("%s/%s: a probe asks for %s of %s, which %s does not serve", name, c.Name, probe.HTTPGet.Path, probe.HTTPGet.Port.String(), p.Name)
		}
	}
}
