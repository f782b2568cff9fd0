// Package kubeconfig hands out the kubeconfigs of hosted clusters, with the long-lived certificate of the administrator or with short-lived ones.
package kubeconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/credential"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/tenancy"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

type flags struct {
	name, namespace, outputFile, kubeconfig string
	portForward, merge                      bool
	// credential is how the kubeconfig logs in, duration how long a short-lived certificate lives.
	credential string
	duration   time.Duration
}

// NewCommand is create kubeconfig, and kubeconfig: the verb stands before it in its examples.
func NewCommand(verb string) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "kubeconfig [NAME]",
		Short: "Print the administrator's kubeconfig of one hosted cluster, or of all in a namespace",
		Long: `Prints the administrator's kubeconfig, or writes it: with --output-file as a file that only its owner can read, whole or not at all; with --merge
into the file that kubectl reads ($KUBECONFIG, or ~/.kube/config), as context NAMESPACE-NAME beside what is there; the current context stays.
Whoever has it administers the cluster: by default with the administrator's own certificate, which lives long. --credential short-lived writes a
certificate that ends after --duration instead; --credential exec writes no secret at all: kubectl calls "hypershift create credential", which
gets such a certificate whenever it needs one, with your rights in the management cluster. The hosted cluster signs it for the user
hypershift:YOU, by your name in the management cluster, and the group hypershift:administrators, which a ClusterRoleBinding of that name makes
administrators: no signer signs for system:masters.`,
		Example: strings.ReplaceAll(`  hypershift VERB demo --output-file demo.kubeconfig
  hypershift VERB demo --merge --credential exec
  hypershift VERB demo --credential short-lived --duration 30m > demo.kubeconfig
  hypershift VERB --name demo > demo.kubeconfig
  hypershift VERB --namespace clusters > all.kubeconfig`, "VERB", strings.TrimSpace(verb+" kubeconfig")),
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: management.CompleteClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.takeName(args); err != nil {
				return err
			}
			if err := errors.Join(f.checkCredential(command.Given(cmd, "duration")), flagfile.CheckWritable("--output-file", f.outputFile)); err != nil {
				return err
			}
			c, err := management.NewClient(f.kubeconfig)
			if err != nil {
				return err
			}
			return f.deliver(cmd.Context(), c, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.name, "name", "", "name of the hosted cluster; all in the namespace when empty")
	_ = cmd.RegisterFlagCompletionFunc("name", management.CompleteClusters)
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	cmd.Flags().StringVar(&f.outputFile, "output-file", "", "file to write to (mode 0600); standard output when empty")
	cmd.Flags().BoolVar(&f.merge, "merge", false, "add it to the file that kubectl reads")
	cmd.Flags().BoolVar(&f.portForward, "port-forward", false, "for private clusters: reach the API server through 'kubectl port-forward'")
	cmd.Flags().StringVar(&f.credential, "credential", longLived, "how it logs in: "+strings.Join(credentials, ", "))
	_ = cmd.RegisterFlagCompletionFunc("credential", cobra.FixedCompletions(credentials, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().DurationVar(&f.duration, "duration", credential.Usual, "how long a short-lived certificate lives")
	management.AddKubeconfig(cmd, &f.kubeconfig)
	cmd.MarkFlagsMutuallyExclusive("output-file", "merge")
	return cmd
}

// deliver prints the kubeconfig, or writes it where it is to be.
func (f *flags) deliver(ctx context.Context, c client.Client, out, messages io.Writer) error {
	if f.outputFile == "" && !f.merge {
		return f.run(ctx, c, out, messages)
	}
	var content bytes.Buffer
	if err := f.run(ctx, c, &content, messages); err != nil {
		return err
	}
	if f.merge {
		return f.mergeInto(clientcmd.NewDefaultPathOptions().GetDefaultFilename(), content.Bytes(), out)
	}
	if err := wholefile.ReplaceSecret(f.outputFile, content.Bytes()); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, f.outputFile)
	return err
}

// mergeInto adds contexts to a kubeconfig, in place of those of the same name. The current context stays, for it leads to the management cluster
// as a rule; a file without one gets the first.
func (f *flags) mergeInto(path string, content []byte, out io.Writer) error {
	there, err := clientcmd.LoadFromFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		there, err = clientcmdapi.NewConfig(), os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return fmt.Errorf("cannot add to the kubeconfig %s: %w", path, err)
	}
	added, err := clientcmd.Load(content)
	if err != nil {
		return fmt.Errorf("the kubeconfig of the hosted cluster is malformed: %w", err)
	}
	if f.name != "" {
		named := clientcmdapi.NewConfig()
		if err := addContext(named, added, f.namespace+"-"+f.name); err != nil {
			return err
		}
		added = named
	}
	maps.Copy(there.Clusters, added.Clusters)
	maps.Copy(there.AuthInfos, added.AuthInfos)
	maps.Copy(there.Contexts, added.Contexts)
	if there.CurrentContext == "" {
		there.CurrentContext = added.CurrentContext
	}
	raw, err := clientcmd.Write(*there)
	if err != nil {
		return fmt.Errorf("cannot encode the kubeconfig: %w", err)
	}
	if err := wholefile.ReplaceSecret(path, raw); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(added.Contexts)) {
		fmt.Fprintf(out, "%s has context %s: kubectl --context %s get nodes\n", path, name, name)
	}
	return nil
}

// takeName takes the name from where it was typed.
func (f *flags) takeName(args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case f.name != "" && f.name != args[0]:
		return fmt.Errorf("the name is given twice: %s, and --name %s", args[0], f.name)
	case args[0] == "":
		return errors.New("the name of the hosted cluster is empty; leave it out to have all of the namespace")
	}
	f.name = args[0]
	return nil
}

func (f *flags) run(ctx context.Context, c client.Client, out, messages io.Writer) error {
	if f.name == "" {
		return f.merged(ctx, c, out, messages)
	}
	hc := &hyperv1.HostedCluster{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: f.name}, hc); apierrors.IsNotFound(err) {
		return management.NoCluster(ctx, c, f.namespace, f.name)
	} else if err != nil {
		return management.Unread("HostedCluster", f.namespace, f.name, err)
	}
	raw, err := management.AdminKubeconfig(ctx, c, hc)
	if err != nil {
		return err
	}
	if f.portForward && !private(hc) {
		fmt.Fprintf(messages, "warning: --port-forward has no effect: the API server of HostedCluster %s/%s has a public endpoint\n", f.namespace, f.name)
	}
	if f.portForward && private(hc) {
		if raw, err = f.forwarded(ctx, c, hc, raw, messages); err != nil {
			return err
		}
	}
	if raw, err = f.withCredential(ctx, c, hc, raw, messages); err != nil {
		return err
	}
	_, err = out.Write(raw)
	return err
}

func private(hc *hyperv1.HostedCluster) bool {
	azure := hc.Spec.Platform.Azure
	return azure != nil && azure.Topology == hyperv1.AzureTopologyPrivate
}

// forwarded points every cluster entry at this machine and says how to open the way.
func (f *flags) forwarded(ctx context.Context, c client.Client, hc *hyperv1.HostedCluster, raw []byte, messages io.Writer) ([]byte, error) {
	conf, err := clientcmd.Load(raw)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig of HostedCluster %s is malformed: %w", hc.Name, err)
	}
	// Who connects there shows an administrator's token to whoever owns the namespace.
	if _, err := tenancy.Read(ctx, c, nil, tenancy.Of(hc)); err != nil {
		return nil, fmt.Errorf("no way to the API server of HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err)
	}
	namespace := contract.ControlPlaneNamespace(hc.Namespace, hc.Name)
	port := int32(6443)
	svc := &corev1.Service{}
	err = c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: contract.APIServer}, svc)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("cannot read Service kube-apiserver in %s: %w", namespace, err)
	}
	if len(svc.Spec.Ports) > 0 {
		port = svc.Spec.Ports[0].Port
	}
	for _, cluster := range conf.Clusters {
		cluster.Server = fmt.Sprintf("https://localhost:%d", port)
	}
	fmt.Fprintf(messages, "run this beside it: kubectl -n %s port-forward service/kube-apiserver %d:%d\n", namespace, port, port)
	return clientcmd.Write(*conf)
}

// merged joins the kubeconfigs of all clusters that have one; the first is current.
func (f *flags) merged(ctx context.Context, c client.Client, out, messages io.Writer) error {
	list := &hyperv1.HostedClusterList{}
	if err := c.List(ctx, list, client.InNamespace(f.namespace)); err != nil {
		return fmt.Errorf("cannot list the HostedClusters in %s: %w", f.namespace, err)
	}
	merged := clientcmdapi.NewConfig()
	for i := range list.Items {
		hc := &list.Items[i]
		if err := f.mergeOne(ctx, c, merged, hc, messages); err != nil {
			fmt.Fprintf(messages, "skipping %s: %v\n", hc.Name, err)
		}
	}
	if len(merged.Contexts) == 0 {
		return fmt.Errorf("no HostedCluster in namespace %s reports a kubeconfig", f.namespace)
	}
	raw, err := clientcmd.Write(*merged)
	if err != nil {
		return fmt.Errorf("cannot encode the kubeconfig: %w", err)
	}
	_, err = out.Write(raw)
	return err
}

func (f *flags) mergeOne(ctx context.Context, c client.Client, merged *clientcmdapi.Config, hc *hyperv1.HostedCluster, messages io.Writer) error {
	raw, err := management.AdminKubeconfig(ctx, c, hc)
	if err != nil {
		return err
	}
	if raw, err = f.withCredential(ctx, c, hc, raw, messages); err != nil {
		return err
	}
	conf, err := clientcmd.Load(raw)
	if err != nil {
		return fmt.Errorf("malformed kubeconfig: %w", err)
	}
	return addContext(merged, conf, hc.Namespace+"-"+hc.Name)
}

// addContext adds the current context of a kubeconfig under another name.
func addContext(merged, conf *clientcmdapi.Config, name string) error {
	current, ok := conf.Contexts[conf.CurrentContext]
	if !ok || conf.Clusters[current.Cluster] == nil || conf.AuthInfos[current.AuthInfo] == nil {
		return errors.New("its current context names no cluster and user")
	}
	merged.Clusters[name] = conf.Clusters[current.Cluster]
	merged.AuthInfos[name+"-admin"] = conf.AuthInfos[current.AuthInfo]
	merged.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name + "-admin", Namespace: "default"}
	if merged.CurrentContext == "" {
		merged.CurrentContext = name
	}
	return nil
}
