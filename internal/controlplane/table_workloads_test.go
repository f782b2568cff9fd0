package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	kubecontrolplanev1 "github.com/openshift/api/kubecontrolplane/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure/vault"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/credentials"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/catalog"
)

// customName is the user's name for the API server.
const customName = "api.mine.example.com"

func loadTable(t *testing.T) *table.Table {
	t.Helper()
	loaded, err := table.Load()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// workload is a live workload of a component.
type workload struct {
	replicas int32
	template corev1.PodTemplateSpec
}

func (f *fixture) workloads() map[string]workload {
	f.Helper()
	out := map[string]workload{}
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	jobs, scheduled := &batchv1.JobList{}, &batchv1.CronJobList{}
	f.list(deployments)
	f.list(sets)
	f.list(jobs)
	f.list(scheduled)
	for _, j := range jobs.Items {
		out["Job/"+j.Name] = workload{1, j.Spec.Template}
	}
	for _, j := range scheduled.Items {
		out["CronJob/"+j.Name] = workload{1, j.Spec.JobTemplate.Spec.Template}
	}
	for _, d := range deployments.Items {
		out["Deployment/"+d.Name] = workload{*d.Spec.Replicas, d.Spec.Template}
	}
	for _, s := range sets.Items {
		out["StatefulSet/"+s.Name] = workload{*s.Spec.Replicas, s.Spec.Template}
	}
	return out
}

// The whole table: the workloads and certificates of a highly available control plane, then the endpoints and workloads of
// one for every way to publish. Those are given the first one's Secrets, because keys take long to make.
func TestTable(t *testing.T) {
	rows := loadTable(t)
	f := newFixture(t)
	f.hcp = inNamespace(planeHA)
	f.hcp.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	f.hcp.Spec.KubeAPIServerDNSName = customName
	f.withPayload("cluster-autoscaler")
	f.begin()
	f.publishedPasses()
	f.checkWorkloads(rows, planeHA)
	f.checkPlain()
	f.checkAuthorities(rows)
	f.checkCertificates(rows)
	f.checkKubeconfigs(rows)

	secrets := &corev1.SecretList{}
	f.list(secrets)
	for _, name := range slices.Sorted(maps.Keys(published)) {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.hcp = inNamespace(name)
			f.hcp.Annotations = map[string]string{hyperv1.DisablePKIReconciliationAnnotation: "true"}
			published[name](f.hcp)
			f.withPayload()
			f.reconciler.OpenVault = func(_ vault.Key, assertion credentials.Assertion) (credentials.Vault, error) {
				return signsIn(assertion), nil
			}
			f.begin(append(secrets.Items, vaultConfig)...)
			f.publishedPasses()
			if name != planeKeyVault {
				f.checkEndpoints(rows, name)
				f.checkPublishing(rows, name)
			}
			if f.hcp.Spec.Platform.Type == hyperv1.AzurePlatform {
				f.checkWorkloads(rows, name)
			}
			if name == planeKeyVault {
				f.hcp.Spec.SecretEncryption.KMS.Azure.ActiveKey.KeyVersion = "2"
				if err := f.client.Update(t.Context(), f.hcp); err != nil {
					t.Fatal(err)
				}
				f.pass()
				f.checkWorkloads(rows, planeKeyRotation)
			}
		})
	}
}

func (f *fixture) checkWorkloads(rows *table.Table, plane string) {
	f.Helper()
	live, known, twice := f.workloads(), map[string]bool{}, map[string]bool{}
	budgets := &policyv1.PodDisruptionBudgetList{}
	f.list(budgets)
	for _, row := range rows.Workloads {
		if row.There(f.payload) {
			twice[row.Name] = true
		}
	}
	for _, row := range rows.Workloads {
		if !row.There(f.payload) && twice[row.Name] {
			continue // another kind of payload has something else of the name
		}
		key := orElse(row.Kind, "Deployment") + "/" + row.Name
		known[key] = true
		w, made := live[key]
		wanted := row.There(f.payload) && exists(row.Planes, plane)
		if made != wanted {
			f.Errorf("plane %s: %s is there: %t, the table says %t", plane, key, made, wanted)
		}
		if made && wanted {
			f.checkWorkload(plane, row, w)
		}
		budget := slices.ContainsFunc(budgets.Items, func(b policyv1.PodDisruptionBudget) bool { return b.Name == row.Name })
		if want := wanted && row.Disruption && component.HighlyAvailable(f.hcp); budget != want {
			f.Errorf("plane %s: PodDisruptionBudget %s is there: %t, the table says %t", plane, row.Name, budget, want)
		}
	}
	for key := range live {
		if !known[key] {
			f.Errorf("plane %s: %s is not in the table: add its row to internal/controlplane/table/workloads.yaml", plane, key)
		}
	}
}

func (f *fixture) checkWorkload(plane string, row table.Workload, w workload) {
	f.Helper()
	spec := w.template.Spec
	wanted := map[string][2]any{
		"replicas":                 {w.replicas, f.replicasOf(row)},
		"priority":                 {spec.PriorityClassName, orElse(row.Priority, "hypershift-control-plane")},
		"service account token":    {*spec.AutomountServiceAccountToken, row.Token},
		"anti-affinity":            {spec.Affinity.PodAntiAffinity != nil, w.replicas > 1},
		"waits":                    {waitsFor(spec, row.Waits), true},
		"volumes that may be lost": {w.template.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"], localVolumes(spec)},
	}
	if row.Grace != 0 {
		wanted["grace"] = [2]any{*spec.TerminationGracePeriodSeconds, row.Grace}
	}
	for what, pair := range wanted {
		if pair[0] != pair[1] {
			f.Errorf("plane %s: %s: %s is %v, the table says %v", plane, row.Name, what, pair[0], pair[1])
		}
	}
	mounted := mountsOf(spec)
	known, unknown := f.payload.Reached(row.MountsSince)
	for _, mount := range unknown {
		if slices.Contains(mounted, f.fill(mount)) {
			f.Errorf("plane %s: %s of %s mounts %s", plane, row.Name, f.payload.Version, mount)
		}
	}
	for _, mount := range slices.Concat(row.Mounts, row.MountsOf[f.payload.Kind], known) {
		if !slices.Contains(mounted, f.fill(mount)) {
			f.Errorf("plane %s: %s does not mount %s", plane, row.Name, mount)
		}
	}
	f.checkContainers(plane, row, spec)
}

func (f *fixture) checkContainers(plane string, row table.Workload, spec corev1.PodSpec) {
	f.Helper()
	live, known := map[string]corev1.Container{}, map[string]bool{"availability-prober": true}
	for prefix, containers := range map[string][]corev1.Container{"init ": spec.InitContainers, "": spec.Containers} {
		for _, c := range containers {
			live[prefix+c.Name] = c
		}
	}
	for _, c := range row.Containers {
		key := c.Name
		if c.Init {
			key = "init " + c.Name
		}
		known[key] = true
		container, made := live[key]
		wanted := c.There(f.payload) && exists(c.Planes, plane)
		if made != wanted {
			f.Errorf("plane %s: %s: container %s is there: %t, the table says %t", plane, row.Name, key, made, wanted)
		}
		if made && wanted {
			f.checkContainer(plane, row.Name, c, container)
		}
	}
	for key := range live {
		if !known[strings.TrimPrefix(key, "init ")] && !known[key] {
			f.Errorf("plane %s: %s: container %s is not in the table", plane, row.Name, key)
		}
	}
}

func (f *fixture) checkContainer(plane, name string, row table.Container, live corev1.Container) {
	f.Helper()
	want, got := row.Wanted(), f.factsOf(live)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Errorf("plane %s: %s/%s is\n%+v, the table says\n%+v", plane, name, row.Name, got, want)
	}
	if changed := fmt.Sprint(want) != fmt.Sprint(row.Facts); changed && row.Differs == "" {
		f.Errorf("%s/%s: the table does not say why it differs", name, row.Name)
	}
	args := slices.Concat(row.Args, row.ArgsSingle)
	if component.HighlyAvailable(f.hcp) {
		args = slices.Concat(row.Args, row.ArgsHA)
	}
	known, unknown := f.payload.Reached(row.ArgsSince)
	args = slices.Concat(args, row.ArgsOf[f.payload.Kind], known)
	told := slices.Concat(live.Command, live.Args, f.configured(live))
	mustContain(f.T, told, f.fillAll(args)...)
	for _, arg := range f.fillAll(unknown) {
		if slices.Contains(told, arg) {
			f.Errorf("plane %s: %s/%s of %s is told %s, which it does not know", plane, name, row.Name, f.payload.Version, arg)
		}
	}
	if s := live.SecurityContext; s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 {
		f.Errorf("plane %s: %s/%s: security context %+v", plane, name, row.Name, s)
	}
}

// configured are the arguments that OpenShift's build of the API server finds in its file, in the form that they have on a command line.
func (f *fixture) configured(c corev1.Container) []string {
	f.Helper()
	if !slices.ContainsFunc(c.Command, func(arg string) bool { return strings.HasPrefix(arg, "--openshift-config=") }) {
		return nil
	}
	file := &corev1.ConfigMap{}
	f.get(file, "kas-config")
	config := kubecontrolplanev1.KubeAPIServerConfig{}
	if err := json.Unmarshal([]byte(file.Data["config.json"]), &config); err != nil {
		f.Fatal(err)
	}
	out := []string{"--tls-min-version=" + config.ServingInfo.MinTLSVersion}
	for name, values := range config.APIServerArguments {
		for _, value := range values {
			out = append(out, "--"+name+"="+value)
		}
	}
	return out
}

// factsOf reads off a live container what the table tells.
func (f *fixture) factsOf(c corev1.Container) table.Facts {
	facts := table.Facts{Image: "cpo", Live: probeText(c.LivenessProbe), Ready: probeText(c.ReadinessProbe)}
	if c.Image != f.reconciler.Settings.Image {
		_, facts.Image, _ = strings.Cut(c.Image, "@sha256:")
	}
	if r := c.Resources.Requests; len(r) > 0 {
		facts.Requests = r.Cpu().String() + "/" + r.Memory().String()
	}
	for _, p := range c.Ports {
		facts.Ports = append(facts.Ports, p.ContainerPort)
	}
	return facts
}

func probeText(p *corev1.Probe) string {
	if p == nil || p.HTTPGet == nil {
		return ""
	}
	// With a key vault, its providers are excluded too.
	path, _, _ := strings.Cut(p.HTTPGet.Path, "&exclude=kms-provider")
	return fmt.Sprintf("%s :%s %d/%d/%d/%d", path, p.HTTPGet.Port.String(), p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold)
}

func (f *fixture) replicasOf(row table.Workload) int32 {
	if !component.HighlyAvailable(f.hcp) || row.Replicas == 0 {
		return 1
	}
	return row.Replicas
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// waitsFor tells whether the pod's waiting container has the argument; without one in the table there must be none.
func waitsFor(spec corev1.PodSpec, target string) bool {
	for _, c := range spec.InitContainers {
		if c.Name == "availability-prober" {
			return target != "" && slices.ContainsFunc(c.Command, func(arg string) bool { return strings.HasSuffix(arg, target) })
		}
	}
	return target == ""
}

// localVolumes keep a pod on its node, in the eyes of an autoscaler that is not told otherwise.
func localVolumes(spec corev1.PodSpec) string {
	var names []string
	for _, v := range spec.Volumes {
		if v.EmptyDir != nil || v.HostPath != nil {
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, ",")
}

func mountsOf(spec corev1.PodSpec) []string {
	var out []string
	for _, v := range spec.Volumes {
		switch {
		case v.Secret != nil:
			out = append(out, "Secret/"+v.Secret.SecretName)
		case v.ConfigMap != nil:
			out = append(out, "ConfigMap/"+v.ConfigMap.Name)
		}
	}
	return out
}

// Whatever plane has it: a component of the registry has a row, which names its images; and what is absent because it is OpenShift's
// own is what ValidReleaseInfo tells.
func TestRegistryIsInTheTable(t *testing.T) {
	catalogs := []string{catalog.RedHat, catalog.Community, catalog.Certified, catalog.Marketplace} // images beside the payload
	rows := map[string]table.Workload{}
	for _, row := range loadTable(t).Workloads {
		if have, ok := rows[row.Name]; ok {
			row.Containers = append(row.Containers, have.Containers...)
		}
		rows[row.Name] = row
		if row.Absent != table.OpenShift && row.Payload != string(release.KindOpenShift) {
			continue
		}
		for _, c := range row.Containers {
			if image := c.Image; image != "cpo" && image != "release" && !slices.Contains(payload, image) && !slices.Contains(openShiftOnly, image) && !slices.Contains(catalogs, image) {
				t.Errorf("%s: image %s of OpenShift's own is not among openShiftOnly", row.Name, image)
			}
		}
	}
	for _, c := range components(publish.Endpoints{}) {
		row, ok := rows[c.Name]
		if !ok || row.Absent != "" {
			t.Errorf("component %s is in the registry, and not in internal/controlplane/table/workloads.yaml", c.Name)
			continue
		}
		for _, key := range c.ImageKeys {
			if !slices.Contains(row.Images, key) && !slices.ContainsFunc(row.Containers, func(have table.Container) bool { return have.Image == key && have.Absent == "" }) {
				t.Errorf("component %s needs image %s, which no container of its row has", c.Name, key)
			}
		}
	}
}

// signsIn is a vault that lets in whoever can sign in.
type signsIn credentials.Assertion

func (s signsIn) Encrypt(ctx context.Context, _ []byte) ([]byte, error) {
	_, err := s(ctx)
	return nil, err
}
