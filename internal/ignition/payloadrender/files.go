package payloadrender

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// write gives the programs what they read.
func (r *render) write(context.Context) error {
	files := map[string][]byte{"mcc/custom.yaml": []byte(r.Config), kubeconfigFile: r.BootstrapKubeconfig}
	for key, text := range r.Cluster {
		if key == contract.ConfigurationHashKey {
			continue
		}
		if filepath.Base(key) != key {
			return fmt.Errorf("ConfigMap %s has a key %q, which is no name of a file", contract.MachineConfigServer, key)
		}
		files["config/"+key] = []byte(text)
	}
	pull := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: contract.PullSecret},
		Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: r.PullSecret},
	}
	var err error
	if files[pullSecretFile], err = yaml.Marshal(pull); err != nil {
		return err
	}
	if r.CloudConfig != nil {
		cloud := &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: r.CloudConfig.Data,
			ObjectMeta: metav1.ObjectMeta{Namespace: r.CloudConfig.Namespace, Name: r.CloudConfig.Name},
		}
		if files[cloudConfigFile], err = yaml.Marshal(cloud); err != nil {
			return err
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(r.path(file), files[file], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// writeStream tells the machine-config-controller of which stream the operating system is, where that is not the payload's own.
func (r *render) writeStream() error {
	if r.OSStream == "" {
		return nil
	}
	stream, err := yaml.Marshal(map[string]any{
		"apiVersion": contract.MachineConfigAPI, "kind": "OSImageStream",
		"metadata": map[string]any{"name": "cluster"}, "spec": map[string]any{"defaultStream": r.OSStream},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("mcc/99_osimagestream.yaml"), stream, 0o600)
}
