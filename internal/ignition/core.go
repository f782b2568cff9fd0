package ignition

import (
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
)

// CoreConfigMaps are the configurations every node of a hosted cluster gets, as ConfigMaps of the control-plane namespace.
// The control-plane-operator writes them; the node pool controller waits for all of them but MirrorsConfigMap, which is there with sources only.
// fips asks for machines that run in FIPS mode.
func CoreConfigMaps(namespace, sshPublicKey string, fips bool, sources []hyperv1.ImageContentSource) ([]*corev1.ConfigMap, error) {
	ssh := types.Config{Ignition: types.Ignition{Version: specVersion}}
	if key := strings.TrimSpace(sshPublicKey); key != "" {
		ssh.Passwd.Users = []types.PasswdUser{{Name: "core", SSHAuthorizedKeys: []types.SSHAuthorizedKey{types.SSHAuthorizedKey(key)}}}
	}
	documents := []struct {
		name, machineConfig string
		config              types.Config
		fips                bool
	}{
		{"ignition-config-fips", "30-fips", types.Config{Ignition: types.Ignition{Version: specVersion}}, fips},
		{"ignition-config-worker-ssh", "99-worker-ssh", ssh, false},
	}
	var out []*corev1.ConfigMap
	for _, document := range documents {
		text, err := machineConfig(document.machineConfig, document.config, document.fips)
		if err != nil {
			return nil, err
		}
		out = append(out, coreConfigMap(namespace, document.name, text))
	}
	mirrors, err := MirrorDocument(sources)
	if err != nil {
		return nil, err
	}
	if mirrors != "" {
		out = append(out, coreConfigMap(namespace, MirrorsConfigMap, mirrors))
	}
	return out, nil
}

func coreConfigMap(namespace, name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{hyperv1.CoreIgnitionConfigLabel: "true"}},
		Data:       map[string]string{hyperv1.NodePoolConfigKey: text},
	}
}

// MirrorsConfigMap tells every node of the mirrors that the hosted cluster names.
const MirrorsConfigMap = "ignition-config-40-image-content-source"

// CoreConfigMapCount is how many core ConfigMaps a complete control-plane namespace has at least.
const CoreConfigMapCount = 2
