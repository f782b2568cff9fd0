package look

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
)

// maxLine bounds a line of a log, in bytes.
const maxLine = 1 << 20

// logReader are the flags of logs.
type logReader struct {
	cluster, namespace, operatorNamespace, kubeconfig, container string
	follow, previous                                             bool
	tail                                                         int64
	since                                                        time.Duration
	// every is how often pods are looked at again while they are followed.
	every time.Duration
	// open streams the log of one container.
	open func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
}

// NewLogsCommand is logs.
func NewLogsCommand() *cobra.Command {
	l := &logReader{every: 2 * time.Second}
	cmd := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print the logs of a component of a hosted cluster's control plane, or of the operator",
		Long: `Prints the logs of all pods of a component: etcd, kube-apiserver, capi-provider … or, without --cluster, operator or external-dns.
Lines of several containers carry the names of pod and container. A component that is not there is answered with those that are. --follow
goes on when a container starts again and when a pod takes another's place, and tells so.`,
		Example: `  hypershift logs kube-apiserver --cluster demo --tail 50
  hypershift logs capi-provider --cluster demo --follow
  hypershift logs kube-apiserver --cluster demo --since 10m
  hypershift logs etcd --cluster demo --previous
  hypershift logs operator`,
		Args: command.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := l.validate(command.Given(cmd, "tail")); err != nil {
				return err
			}
			c, logs, err := management.Connect(l.kubeconfig)
			if err != nil {
				return err
			}
			l.open = logs.Open
			return l.run(cmd.Context(), c, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&l.cluster, "cluster", "", "hosted cluster; without it the operator's namespace is looked at")
	flags.StringVarP(&l.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	flags.StringVar(&l.operatorNamespace, "operator-namespace", management.OperatorNamespace, "namespace of the operator")
	flags.StringVarP(&l.container, "container", "c", "", "only this container; all when empty")
	flags.BoolVarP(&l.follow, "follow", "f", false, "print what is to come, until interrupted")
	flags.BoolVarP(&l.previous, "previous", "p", false, "the log of the container before its last restart")
	flags.Int64Var(&l.tail, "tail", 200, "last lines of each container; -1 is all, which --since means too unless both are given")
	flags.DurationVar(&l.since, "since", 0, "only lines that are newer than this, such as 90s or 10m; 0 is all")
	management.AddKubeconfig(cmd, &l.kubeconfig)
	cmd.ValidArgsFunction = l.complete
	_ = cmd.RegisterFlagCompletionFunc("cluster", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return management.CompleteClusters(cmd, nil, typed)
	})
	return cmd
}

// validate refuses what no log could be asked for. tailed tells whether a number of lines was typed.
func (l *logReader) validate(tailed bool) error {
	switch {
	case l.since < 0:
		return fmt.Errorf("--since %s is negative; it says how far back to look, such as 10m", l.since)
	case l.tail < -1:
		return fmt.Errorf("--tail %d is negative; use -1 for all lines", l.tail)
	case l.since > 0 && !tailed:
		l.tail = -1
	}
	return nil
}

// complete offers the components that are there.
func (l *logReader) complete(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	c, err := management.NewClient(l.kubeconfig)
	if err != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), management.CompletionLimit)
	defer cancel()
	pods, err := l.pods(ctx, c)
	if err != nil {
		return nil, none
	}
	return componentsOf(pods), none
}

func (l *logReader) run(ctx context.Context, c client.Reader, component string, out, messages io.Writer) error {
	pods, err := l.pods(ctx, c)
	if err != nil {
		return err
	}
	var streams []stream
	var containers []string
	for i := range pods {
		if slices.Contains(namesOf(&pods[i]), component) {
			for _, container := range containersOf(&pods[i]) {
				containers = append(containers, container.Name)
			}
			streams = append(streams, l.streamsOf(&pods[i])...)
		}
	}
	switch known := componentsOf(pods); {
	case len(containers) == 0 && l.cluster == "" && len(known) == 0:
		return fmt.Errorf("nothing runs in namespace %s; --cluster names the hosted cluster, --operator-namespace the namespace of the operator", l.operatorNamespace)
	case len(containers) == 0:
		return fmt.Errorf("there is no component %s%s; there are: %s", component, printing.Suggest(component, known), strings.Join(known, ", "))
	case len(streams) == 0:
		return fmt.Errorf("--container %s: component %s has no such container%s; it has: %s", l.container, component, printing.Suggest(l.container, containers), strings.Join(unique(containers), ", "))
	}
	if l.follow && !l.previous { // what went before says nothing more
		f := &follower{logReader: l, component: component, out: out, messages: messages}
		return f.followComponent(ctx, c, pods)
	}
	return l.print(ctx, streams, out, messages)
}

func containersOf(pod *corev1.Pod) []corev1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

// streamsOf are the logs of a pod that are asked for.
func (l *logReader) streamsOf(pod *corev1.Pod) []stream {
	var streams []stream
	for _, container := range containersOf(pod) {
		if l.container == "" || container.Name == l.container {
			streams = append(streams, stream{pod.Namespace, pod.Name, container.Name})
		}
	}
	return streams
}

// pods are those of the control plane, or of the operator's namespace.
func (l *logReader) pods(ctx context.Context, c client.Reader) ([]corev1.Pod, error) {
	namespace := l.operatorNamespace
	if l.cluster != "" {
		hc := &hyperv1.HostedCluster{}
		err := c.Get(ctx, client.ObjectKey{Namespace: l.namespace, Name: l.cluster}, hc)
		if apierrors.IsNotFound(err) {
			return nil, management.NoCluster(ctx, c, l.namespace, l.cluster)
		}
		if err != nil {
			return nil, management.Unread("HostedCluster", l.namespace, l.cluster, err)
		}
		if _, err := tenancy.Read(ctx, c, nil, tenancy.Of(hc)); err != nil {
			return nil, fmt.Errorf("no logs of HostedCluster %s/%s: %w", l.namespace, l.cluster, err)
		}
		namespace = contract.ControlPlaneNamespace(l.namespace, l.cluster)
	}
	list := &corev1.PodList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the pods of namespace %s: %w", namespace, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// namesOf are the names that a pod's component goes by.
func namesOf(pod *corev1.Pod) []string {
	var names []string
	for _, label := range []string{hyperv1.ControlPlaneComponentLabel, "app", "name"} {
		if name := pod.Labels[label]; name != "" {
			names = append(names, name)
		}
	}
	return names
}

func componentsOf(pods []corev1.Pod) []string {
	var all []string
	for i := range pods {
		if names := namesOf(&pods[i]); len(names) > 0 {
			all = append(all, names[0])
		}
	}
	return unique(all)
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// stream is the log of one container.
type stream struct{ namespace, pod, container string }

// String implements fmt.Stringer.
func (s stream) String() string { return s.pod + "/" + s.container }

// print writes whole lines, one container after the other. A container without a log, such as one that never ran, is told and hides none.
func (l *logReader) print(ctx context.Context, streams []stream, out, messages io.Writer) error {
	read := false
	for _, s := range streams {
		prefix := ""
		if len(streams) > 1 {
			prefix = "[" + s.String() + "] "
		}
		err := l.copy(ctx, s, l.asked(s), func(line string) error {
			_, err := fmt.Fprintln(out, prefix+line)
			return err
		})
		var status *apierrors.StatusError
		switch {
		case errors.As(err, &status):
			fmt.Fprintf(messages, "no log of %s: %v\n", s, err)
			continue
		case err != nil:
			return fmt.Errorf("cannot print the logs: %w", err)
		}
		read = true
	}
	if !read {
		return errors.New("no container of the component has such a log")
	}
	return nil
}

// asked is what the flags ask for of a container's log.
func (l *logReader) asked(s stream) *corev1.PodLogOptions {
	options := &corev1.PodLogOptions{Container: s.container, Follow: l.follow, Previous: l.previous}
	if l.tail >= 0 {
		options.TailLines = &l.tail
	}
	if l.since > 0 {
		options.SinceSeconds = ptr.To(int64(math.Ceil(l.since.Seconds())))
	}
	return options
}

func (l *logReader) copy(ctx context.Context, s stream, options *corev1.PodLogOptions, line func(string) error) error {
	from, err := l.open(ctx, s.namespace, s.pod, options)
	if err != nil {
		return err
	}
	defer from.Close()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if err := line(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}
