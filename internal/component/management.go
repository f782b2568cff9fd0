package component

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ManagementProxy is the way out of the management cluster as the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY, for programs that make
// pods themselves; nothing where there is no proxy.
func (s Settings) ManagementProxy() []corev1.EnvVar {
	if s.Cloud == nil {
		return nil
	}
	// What the decorator says of any container is what it is.
	scratch := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{}}}}
	s.Cloud(scratch)
	var out []corev1.EnvVar
	for _, variable := range scratch.Spec.Containers[0].Env {
		if strings.HasSuffix(variable.Name, "_PROXY") {
			out = append(out, variable)
		}
	}
	return out
}

// RunAsUser tells programs that make pods themselves which user those are, where the management cluster does not choose one.
func (s Settings) RunAsUser() []corev1.EnvVar {
	if s.UID == nil {
		return nil
	}
	return Environment("RUN_AS_USER", strconv.FormatInt(*s.UID, 10))
}
