package kubeconfig

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/credential"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
)

// How a kubeconfig logs in.
const (
	longLived  = "admin"
	shortLived = "short-lived"
	byExec     = "exec"
)

var credentials = []string{longLived, shortLived, byExec}

// NewCredentialCommand is create credential, which kubectl calls.
func NewCredentialCommand() *cobra.Command {
	f := &flags{}
	var managementContext string
	cmd := &cobra.Command{
		Use:   "credential NAME",
		Short: "Print a short-lived client certificate of a hosted cluster, as kubectl reads it from a plugin",
		Long: `Prints an ExecCredential of client.authentication.k8s.io/v1: a client certificate of the hosted cluster that ends after --duration, and its key, which
is made here and sent nowhere. kubectl calls it where a kubeconfig was written with "hypershift kubeconfig --credential exec", and is given the
same certificate again while that lives; it is kept in a file below the user's cache folder that only the user can read.`,
		Example:           "  hypershift create credential demo\n  hypershift create credential demo --duration 10m",
		Args:              command.OneName,
		ValidArgsFunction: management.CompleteClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.name, f.credential = args[0], shortLived
			if err := f.checkCredential(true); err != nil {
				return err
			}
			return f.answer(cmd, managementContext)
		},
	}
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", management.ClustersNamespace, "namespace of the hosted cluster")
	cmd.Flags().DurationVar(&f.duration, "duration", credential.Usual, "how long the certificate lives")
	cmd.Flags().StringVar(&managementContext, "context", "", "context of the management cluster in its kubeconfig; the current one when empty")
	cmd.Flags().BoolVar(&f.portForward, "port-forward", false, "for private clusters: reach the API server through 'kubectl port-forward'")
	management.AddKubeconfig(cmd, &f.kubeconfig)
	return cmd
}

// answer prints what is kept for kubectl, or has a new certificate signed.
func (f *flags) answer(cmd *cobra.Command, managementContext string) error {
	asked, err := credential.Asked()
	if err != nil {
		return err
	}
	var question []string
	if asked != "" {
		files, _, err := management.Way(f.kubeconfig)
		if err != nil {
			return err
		}
		question = []string{asked, files, managementContext, f.namespace, f.name, f.duration.String(), fmt.Sprint(f.portForward)}
	}
	issued, err := credential.Kept(question, time.Now(), cmd.ErrOrStderr(), func() (*credential.Credential, error) {
		c, err := management.NewClientOf(f.kubeconfig, managementContext)
		if err != nil {
			return nil, err
		}
		return f.issue(cmd.Context(), c, cmd.ErrOrStderr())
	})
	if err != nil {
		return err
	}
	return issued.Print(cmd.OutOrStdout())
}

// issue gets a certificate of the named hosted cluster.
func (f *flags) issue(ctx context.Context, c client.Client, messages io.Writer) (*credential.Credential, error) {
	admin := *f
	admin.credential = longLived
	var raw strings.Builder
	if err := admin.run(ctx, c, &raw, messages); err != nil {
		return nil, err
	}
	return f.signed(ctx, c, []byte(raw.String()))
}

// signed gets a certificate with the administrator's kubeconfig, for who asks.
func (f *flags) signed(ctx context.Context, c client.Client, admin []byte) (*credential.Credential, error) {
	config, err := management.HostedConfig(admin)
	if err != nil {
		return nil, fmt.Errorf("no certificate of the hosted cluster: %w", err)
	}
	self := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, self); err != nil {
		return nil, fmt.Errorf("cannot ask the management cluster who you are: %w", err)
	}
	return credential.Issue(ctx, config, self.Status.UserInfo.Username, f.duration)
}

// checkCredential refuses what cannot be meant.
func (f *flags) checkCredential(durationGiven bool) error {
	switch {
	case !slices.Contains(credentials, f.credential):
		return fmt.Errorf("--credential %q is unknown; use %s%s", f.credential, strings.Join(credentials, ", "), printing.Suggest(f.credential, credentials))
	case f.credential != longLived:
		return credential.CheckLife(f.duration)
	case durationGiven:
		return fmt.Errorf("--duration is for --credential %s and %s: the administrator's certificate ends when it ends", shortLived, byExec)
	}
	return nil
}

// withCredential puts what is asked for in the place of the administrator's long-lived certificate, of which nothing stays.
func (f *flags) withCredential(ctx context.Context, c client.Client, hc *hyperv1.HostedCluster, raw []byte, messages io.Writer) ([]byte, error) {
	if f.credential != shortLived && f.credential != byExec {
		return raw, nil
	}
	admin, err := clientcmd.Load(raw)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig of HostedCluster %s/%s is malformed: %w", hc.Namespace, hc.Name, err)
	}
	conf, name := clientcmdapi.NewConfig(), hc.Namespace+"-"+hc.Name
	if err := addContext(conf, admin, name); err != nil {
		return nil, err
	}
	user := conf.Contexts[name].AuthInfo
	if f.credential == byExec {
		if conf.AuthInfos[user], err = f.plugin(hc); err != nil {
			return nil, err
		}
		return clientcmd.Write(*conf)
	}
	issued, err := f.signed(ctx, c, raw)
	if err != nil {
		return nil, err
	}
	conf.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: issued.Certificate, ClientKeyData: issued.Key}
	fmt.Fprintf(messages, "the certificate for HostedCluster %s/%s ends at %s\n", hc.Namespace, hc.Name, issued.Ends.Format(time.RFC3339))
	return clientcmd.Write(*conf)
}

// plugin is a user whom kubectl asks this program for. It says where the management cluster is: what is current there may be another cluster then.
func (f *flags) plugin(hc *hyperv1.HostedCluster) (*clientcmdapi.AuthInfo, error) {
	files, managementContext, err := management.Way(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	exec := &clientcmdapi.ExecConfig{
		APIVersion: credential.ExecVersion, Command: "hypershift",
		Args:               []string{"create", "credential", hc.Name, "--namespace", hc.Namespace, "--duration", f.duration.String()},
		InstallHint:        "hypershift, which gets short-lived certificates of hosted clusters, is not on the PATH; put it there.",
		InteractiveMode:    clientcmdapi.IfAvailableExecInteractiveMode,
		ProvideClusterInfo: true,
	}
	if f.portForward {
		exec.Args = append(exec.Args, "--port-forward")
	}
	if managementContext != "" {
		exec.Args = append(exec.Args, "--context", managementContext)
		exec.Env = []clientcmdapi.ExecEnvVar{{Name: clientcmd.RecommendedConfigPathEnvVar, Value: files}}
	}
	return &clientcmdapi.AuthInfo{Exec: exec}, nil
}
