package look

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/dashboard"
	"github.com/hypershift-on-azure/hypershift/internal/explain"
)

// viewer are the flags of dashboard.
type viewer struct {
	namespace, operatorNamespace, kubeconfig string
	port                                     uint16
}

// NewDashboardCommand is dashboard.
func NewDashboardCommand() *cobra.Command {
	v := &viewer{}
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Show hosted clusters to a browser of this machine, live",
		Long: `Serves a read-only page on 127.0.0.1 until it is interrupted: hosted clusters, versions, node pools with the boot stage of each machine, what is
wrong because of what as ` + "`hypershift explain`" + ` tells it, and events. It follows what happens. It sees what the kubeconfig may see, and shows no
Secret. Who else is on this machine does not get in: the address that is printed has a key, which the browser keeps. For several people
` + "`hypershift install --dashboard`" + ` has the same pages on the management cluster, each seen with the rights of who signs in.`,
		Example: `  hypershift dashboard
  hypershift dashboard --port 8080 --namespace clusters`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, logs, err := management.Connect(v.kubeconfig)
			if err != nil {
				return err
			}
			return v.serve(cmd.Context(), &dashboard.Viewer{Client: c, Logs: explain.Logs(logs.Tail(explain.LogLines, explain.LogBytes))}, dashboard.Options{
				Namespace: v.namespace, Operator: v.operatorNamespace, Now: time.Now, Tick: every(watchPeriod),
			}, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&v.namespace, "namespace", "n", "", "namespace of the hosted clusters; all by default")
	flags.StringVar(&v.operatorNamespace, "operator-namespace", management.OperatorNamespace, "namespace of the operator and of ExternalDNS")
	flags.Uint16Var(&v.port, "port", 0, "port on 127.0.0.1; a free one by default")
	management.AddKubeconfig(cmd, &v.kubeconfig)
	return cmd
}

// serve listens on this machine alone, and says where; whoever has its key looks as the viewer.
func (v *viewer) serve(ctx context.Context, as *dashboard.Viewer, o dashboard.Options, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(v.port))))
	if err != nil {
		return fmt.Errorf("cannot listen on --port %d: %w; leave the flag out for a free port", v.port, err)
	}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	key := rand.Text()
	o.Hosts = []string{"127.0.0.1:" + port, "localhost:" + port}
	o.Admit = dashboard.ByKey(key, as)
	server := &http.Server{Handler: dashboard.New(o), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	if _, err := fmt.Fprintf(out, "http://127.0.0.1:%s/?key=%s\n", port, key); err != nil {
		return errors.Join(err, listener.Close())
	}
	// An interrupt ends what follows, too: a stream waits for its browser for ever.
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the dashboard stopped: %w", err)
	}
	return nil
}
