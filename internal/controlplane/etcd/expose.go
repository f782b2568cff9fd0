package etcd

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const (
	metricsName     = "metrics"
	metricsCAVolume = "metrics-ca"
	metricsCADir    = "/etc/etcd/tls/metrics-ca"

	// livePath and readyPath are those of the side-car; etcd's own are other ones.
	livePath, readyPath = "/healthz", "/readyz"
)

// exposers stand between etcd and who is no client of it: etcd shows its health and its metrics to its clients alone, and a certificate
// for either would open the whole database.
func exposers(ctx *component.Context) []corev1.Container {
	metrics := exposer(ctx, "etcd-metrics", metricsPort, "--path=/metrics=/metrics", "--client-ca-file="+metricsCADir+"/ca.crt")
	metrics.Ports[0].Name = metricsName
	metrics.Resources = component.Requests("10m", "30Mi")
	metrics.VolumeMounts = append(metrics.VolumeMounts, component.Mount(metricsCAVolume+":"+metricsCADir))
	health := exposer(ctx, "healthz", healthPort, "--path="+livePath+"=/livez", "--path="+readyPath+"=/readyz")
	health.Resources = component.Requests("10m", "50Mi")
	return []corev1.Container{metrics, health}
}

func exposer(ctx *component.Context, name string, port int32, args ...string) corev1.Container {
	return corev1.Container{
		Name: name, Image: ctx.Settings.Image,
		Command: append([]string{helperBinary, "expose", fmt.Sprintf("--listen=:%d", port), fmt.Sprintf("--target=https://localhost:%d", ownPort),
			"--trusted-ca-file=" + authorityFile, "--cert-file=" + serverCertFile, "--key-file=" + serverKeyFile,
			"--cipher-suites=" + component.CipherSuites}, args...),
		Ports: []corev1.ContainerPort{{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		VolumeMounts: []corev1.VolumeMount{
			component.Mount("server-tls:/etc/etcd/tls/server"), component.Mount("ca:/etc/etcd/tls/ca"),
		},
	}
}
