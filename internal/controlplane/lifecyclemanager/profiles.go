package lifecyclemanager

import (
	"errors"
	"fmt"
	"math/big"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube/rbac"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// Profiles is the name of the component and its CronJob.
const Profiles = "olm-collect-profiles"

const pprofCert = "pprof-cert"

// ProfilesComponent collects what memory the two operators use, once a day.
func ProfilesComponent() component.Component {
	return component.Component{
		Name:      Profiles,
		Kind:      release.KindOpenShift,
		ImageKeys: []string{image},
		DependsOn: []string{contract.APIServer},
		Traits:    component.Traits{ManagementAccess: true},
		Runs:      component.Scheduled,
		Objects:   profilesObjects,
	}
}

func profilesObjects(ctx *component.Context) ([]client.Object, error) {
	job := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: Profiles}, Spec: batchv1.CronJobSpec{
		Schedule: daily(ctx.Namespace()), ConcurrencyPolicy: batchv1.ReplaceConcurrent}}
	job.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{
			Name: "collect-profiles", Image: ctx.Image(image), Command: []string{"bin/collect-profiles"},
			Args: []string{"-n", "$(MY_NAMESPACE)", "--config-mount-path", "/etc/config", "--cert-mount-path", "/var/run/secrets/serving-cert",
				heapOf(Operator), heapOf(Catalog)},
			Env: []corev1.EnvVar{component.FromField(contract.NamespaceEnv, "metadata.namespace")}, Resources: component.Requests("10m", "80Mi"),
			VolumeMounts: []corev1.VolumeMount{component.Mount("config-volume:/etc/config"), component.Mount("client-cert:/var/run/secrets/serving-cert")},
		}},
		Volumes: []corev1.Volume{component.ConfigMapVolume("config-volume", Profiles), component.SecretVolume("client-cert", contract.MetricsClient)},
	}
	renew := rbac.Named(rbac.Rule("", "get,update", "secrets"), pprofCert)
	certificate, err := ctx.Secret(pprofCert)
	var missing *component.MissingInputError
	if errors.As(err, &missing) {
		certificate, err = map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}}, nil
	}
	if err != nil {
		return nil, err
	}
	return append(component.Access(Profiles, ctx.Namespace(), rbac.Rule("", "get,list,create,delete", "configmaps"), renew),
		component.NewConfigMap(Profiles, map[string]string{"pprof-config.yaml": "disabled: False\n"}),
		// The program fills it, and renews it.
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: pprofCert}, Type: corev1.SecretTypeTLS, Data: certificate},
		job), nil
}

// heapOf tells the program where an operator shows its heap, and how to call what it finds.
func heapOf(operator string) string {
	return fmt.Sprintf("%s-heap-:https://%s-metrics:%d/debug/pprof/heap", operator, operator, metricsPort)
}

// daily is a time of the day that follows from the name of the namespace, so that control planes do not all begin at once.
func daily(namespace string) string {
	number := new(big.Int).SetBytes([]byte(namespace))
	rest := func(of int64) *big.Int { return new(big.Int).Mod(number, big.NewInt(of)) }
	return fmt.Sprintf("%s %s * * *", rest(60), rest(24))
}
