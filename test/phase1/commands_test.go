package phase1

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// worldKey finds the embedded Azure of a script.
type worldKey struct{}

// injectFault is the script command: fault RULE adds a rule written in JSON, fault clear removes all.
func injectFault(ts *testscript.TestScript, _ bool, args []string) {
	faults := ts.Value(worldKey{}).(*world).server.Faults()
	if args[0] == "clear" {
		ts.Check(faults.Clear())
		return
	}
	var rule fault.Rule
	ts.Check(json.Unmarshal([]byte(args[0]), &rule))
	_, err := faults.Add(rule)
	ts.Check(err)
}

// killed is the script command: killed FILE TEXT COMMAND... kills the command, which can do nothing about it, once the file holds the
// text.
func killed(ts *testscript.TestScript, _ bool, args []string) {
	file, text := ts.MkAbs(args[0]), args[1]
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	cmd := exec.Command(path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "HTTPS_PROXY", "SSL_CERT_FILE", "KUBECONFIG"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.Tick(time.Millisecond); ; <-tick {
		select {
		case err := <-ended:
			ts.Fatalf("the command ended by itself: %v", err)
		default:
		}
		if raw, err := os.ReadFile(file); err == nil && strings.Contains(string(raw), text) {
			break
		}
	}
	ts.Check(cmd.Process.Kill())
	<-ended
}

// waitFor is the script command: waitfor FILE TEXT waits until the file holds the text.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(time.Minute)
	for tick := time.Tick(time.Millisecond); ; <-tick {
		if raw, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(raw), args[1]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not hold %q", args[0], args[1])
		}
	}
}

// untag is the script command: untag GROUP-ID takes the tags off a resource group, as a policy or a person may.
func untag(ts *testscript.TestScript, _ bool, args []string) {
	session, err := ts.Value(worldKey{}).(*world).signIn()
	ts.Check(err)
	group, err := session.Get(context.Background(), args[0], "2021-04-01")
	ts.Check(err)
	_, err = session.Put(context.Background(), args[0], "2021-04-01", azure.Resource{Location: group.Location, Tags: map[string]string{}})
	ts.Check(err)
}

// put is the script command: put ID API-VERSION BODY makes a resource of the user's.
func put(ts *testscript.TestScript, _ bool, args []string) {
	session, err := ts.Value(worldKey{}).(*world).signIn()
	ts.Check(err)
	var body azure.Resource
	ts.Check(json.Unmarshal([]byte(args[2]), &body))
	_, err = session.Put(context.Background(), args[0], args[1], body)
	ts.Check(err)
}

// groups is the script command: groups NAMES compares the names of the subscription's resource groups.
func groups(ts *testscript.TestScript, _ bool, args []string) {
	session, err := ts.Value(worldKey{}).(*world).signIn()
	ts.Check(err)
	all, err := session.List(context.Background(), "/subscriptions/"+subscription+"/resourcegroups", "2021-04-01", "")
	ts.Check(err)
	var names []string
	for _, group := range all {
		names = append(names, group.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != args[0] {
		ts.Fatalf("the resource groups are %q, want %q", got, args[0])
	}
}

// contributor is the script command: contributor FILE makes a service principal that is a contributor of the subscription and no more, and
// writes its credentials.
func contributor(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	session, err := ts.Value(worldKey{}).(*world).signIn()
	ts.Check(err)
	app, err := session.EnsureApplication(ctx, "contributor")
	ts.Check(err)
	password, err := session.AddPassword(ctx, app, "test", time.Hour)
	ts.Check(err)
	principal, err := session.PrincipalOf(ctx, app.ClientID)
	ts.Check(err)
	scope := "/subscriptions/" + subscription
	ts.Check(session.Assign(ctx, azure.Assignment{Name: azure.AssignmentName("test", "contributor", scope), Scope: scope,
		RoleGUID: "b24988ac-6180-42a0-ab88-20f7382dd24c", PrincipalID: principal}))
	raw, err := json.Marshal(map[string]string{"subscriptionId": subscription, "tenantId": tenant, "clientId": app.ClientID, "clientSecret": password})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw, 0o600))
}

// there is the script command: there ID API-VERSION fails unless the resource exists.
func there(ts *testscript.TestScript, _ bool, args []string) {
	session, err := ts.Value(worldKey{}).(*world).signIn()
	ts.Check(err)
	_, err = session.Get(context.Background(), args[0], args[1])
	ts.Check(err)
}

// line is exec whose arguments are split at blanks, so that a variable may hold a part of a command line.
func line(ts *testscript.TestScript, neg bool, args []string) {
	words := strings.Fields(strings.Join(args, " "))
	if err := ts.Exec(words[0], words[1:]...); (err != nil) != neg {
		ts.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
}

// client reaches the embedded Azure as programs do that know a proxy.
func (w *world) client() *http.Client {
	pool := x509.NewCertPool()
	if ca, err := os.ReadFile(w.ca); err == nil {
		pool.AppendCertsFromPEM(ca)
	}
	proxy := &url.URL{Scheme: "http", Host: w.server.ProxyAddr()}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

// signIn is a session of the user's service principal.
func (w *world) signIn() (*azure.Session, error) {
	return azure.NewSession(azure.Credentials{SubscriptionID: subscription, TenantID: tenant, ClientID: clientID, ClientSecret: secret}, "", azure.WithHTTPClient(w.client()))
}

// shell runs commands in a folder, as a person does who has pointed his shell at the embedded Azure.
type shell struct {
	t   *testing.T
	dir string
	env []string
}

func (w *world) shell(t *testing.T, dir string, env ...string) shell {
	return shell{t: t, dir: dir, env: append(append(os.Environ(), "HTTPS_PROXY=http://"+w.server.ProxyAddr(), "SSL_CERT_FILE="+w.ca, "CREDS="+w.credentials), env...)}
}

// try runs a command that may fail.
func (s shell) try(args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = s.dir, s.env
	var out, messages strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &messages
	err = cmd.Run()
	return out.String(), messages.String(), err
}

func (s shell) run(args ...string) (stdout, stderr string) {
	s.t.Helper()
	stdout, stderr, err := s.try(args...)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr)
	}
	return stdout, stderr
}
