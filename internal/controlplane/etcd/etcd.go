// Package etcd is the database of a hosted control plane.
package etcd

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

// Name of the component, its StatefulSet and its pods' prefix.
const Name = contract.Etcd

const (
	clientService    = contract.EtcdClientService
	discoveryService = contract.EtcdDiscoveryService

	clientPort  = 2379
	peerPort    = 2380
	metricsPort = 2381
	healthPort  = 9980
	// ownPort is where etcd tells its clients of itself.
	ownPort = 2382

	dataDir = "/var/lib/data"

	// members of a highly available etcd.
	members = contract.EtcdMembers
)

var defaultSize = resource.MustParse("8Gi")

// Component is etcd unless the user brings one.
func Component() component.Component {
	return component.Component{
		Name:      Name,
		ImageKeys: []string{"etcd"},
		Enabled:   func(ctx *component.Context) bool { return ctx.HCP.Spec.Etcd.ManagementType != hyperv1.Unmanaged },
		Traits:    component.Traits{Replicas: members, Priority: component.PriorityEtcd, Budget: true},
		Reloads:   reloads,
		Objects:   objects,
	}
}

func objects(ctx *component.Context) ([]client.Object, error) {
	set := statefulSet(ctx)
	stampAuthority(ctx, &set.Spec.Template)
	more := addMembership(ctx, &set.Spec.Template.Spec)
	more = append(more, addDefrag(ctx, &set.Spec.Template)...)
	more = append(more, addRestore(ctx, &set.Spec.Template.Spec)...)
	if err := addRestoreInPlace(ctx, &set.Spec.Template.Spec); err != nil {
		return nil, err
	}
	return append(more,
		exposed(service(clientService, false, clientPort, metricsPort)),
		service(discoveryService, true, clientPort, peerPort),
		set,
	), nil
}

var portNames = map[int32]string{clientPort: "client", peerPort: "peer", metricsPort: metricsName}

// exposed marks a Service for who looks for etcd's metrics by label.
func exposed(s *corev1.Service) *corev1.Service {
	s.Labels = map[string]string{component.LabelApp: Name}
	return s
}

func service(name string, headless bool, ports ...int32) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: map[string]string{component.LabelApp: Name}}}
	if headless {
		s.Spec.ClusterIP = corev1.ClusterIPNone
		// Members must find each other before any of them is ready.
		s.Spec.PublishNotReadyAddresses = true
	}
	for _, port := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: portNames[port], Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromInt32(port)})
	}
	return s
}

func statefulSet(ctx *component.Context) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: appsv1.StatefulSetSpec{
			ServiceName:          discoveryService,
			PodManagementPolicy:  appsv1.ParallelPodManagement,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim(ctx.HCP)},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: append([]corev1.Container{container(ctx)}, exposers(ctx)...),
				Volumes: []corev1.Volume{
					component.SecretVolume("server-tls", contract.EtcdServerCertificate),
					component.SecretVolume("peer-tls", contract.EtcdPeerCertificate),
					component.ConfigMapVolume("ca", contract.EtcdCA),
					component.ConfigMapVolume(metricsCAVolume, contract.EtcdMetricsCA),
				},
			}},
		},
	}
}

func claim(hcp *hyperv1.HostedControlPlane) corev1.PersistentVolumeClaim {
	size := defaultSize
	var class *string
	if m := hcp.Spec.Etcd.Managed; m != nil && m.Storage.PersistentVolume != nil {
		class = m.Storage.PersistentVolume.StorageClassName
		if m.Storage.PersistentVolume.Size != nil {
			size = *m.Storage.PersistentVolume.Size
		}
	}
	return corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: class,
			VolumeMode:       ptr.To(corev1.PersistentVolumeFilesystem),
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
}

func container(ctx *component.Context) corev1.Container {
	return corev1.Container{
		Name: Name, Image: ctx.Image("etcd"),
		Command: append([]string{"/bin/etcd"}, Args(ctx)...),
		Env:     memberEnv(),
		Ports: []corev1.ContainerPort{
			{Name: "client", ContainerPort: clientPort, Protocol: corev1.ProtocolTCP},
			{Name: "peer", ContainerPort: peerPort, Protocol: corev1.ProtocolTCP},
		},
		Resources:      component.Requests("300m", "600Mi"),
		StartupProbe:   component.HTTPSProbe(readyPath, healthPort, 1, 10, 180),
		LivenessProbe:  component.HTTPSProbe(livePath, healthPort, 5, 30, 5),
		ReadinessProbe: component.HTTPSProbe(readyPath, healthPort, 5, 10, 15),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "data", MountPath: dataDir},
			component.Mount("server-tls:/etc/etcd/tls/server"), component.Mount("peer-tls:/etc/etcd/tls/peer"), component.Mount("ca:/etc/etcd/tls/ca"),
		},
	}
}

// memberEnv is what memberArgs and Args refer to.
func memberEnv() []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
	}
	return []corev1.EnvVar{field(contract.PodNameEnv, "metadata.name"), field("NAMESPACE", "metadata.namespace"), field("POD_IP", "status.podIP")}
}

// memberArgs say which member of which cluster this is.
func memberArgs(ctx *component.Context) []string {
	var all []string
	for i := range memberCount(ctx) {
		all = append(all, fmt.Sprintf("%s-%d=https://%s-%d.%s.%s.svc:%d", Name, i, Name, i, discoveryService, ctx.Namespace(), peerPort))
	}
	return []string{
		"--name=$(POD_NAME)",
		"--data-dir=" + dataDir,
		"--initial-advertise-peer-urls=" + fmt.Sprintf("https://$(POD_NAME).%s.$(NAMESPACE).svc:%d", discoveryService, peerPort),
		"--initial-cluster=" + strings.Join(all, ","),
		"--initial-cluster-token=" + ctx.Namespace(),
	}
}

// Args are etcd's arguments.
func Args(ctx *component.Context) []string {
	return append(memberArgs(ctx),
		"--listen-client-urls="+fmt.Sprintf("https://$(POD_IP):%d,https://localhost:%d", clientPort, clientPort),
		advertiseArg(),
		listenPeersArg(),
		"--initial-cluster-state=new",
		"--listen-metrics-urls="+fmt.Sprintf("https://0.0.0.0:%d", ownPort),
		"--metrics=extensive",
		quotaArg,
		"--snapshot-count=10000",
		"--client-cert-auth=true",
		"--trusted-ca-file="+authorityFile,
		"--cert-file="+serverCertFile,
		"--key-file="+serverKeyFile,
		"--peer-client-cert-auth=true",
		"--peer-trusted-ca-file="+authorityFile,
		"--peer-cert-file="+peerCertFile,
		"--peer-key-file="+peerKeyFile,
		"--tls-min-version=TLS1.2",
		"--cipher-suites="+component.CipherSuites,
		"--log-level=warn",
	)
}
