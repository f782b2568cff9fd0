package twin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// asTold is a start of the ingress operator of 5.0 that nothing is wrong with.
func asTold() Start {
	return Start{
		Release: "5.0.1", Strict: true,
		Args: []string{"start", "--namespace", "openshift-ingress-operator", "--image", "q/r@sha256:haproxy-router", "--haproxy-image=2.8=q/r@sha256:haproxy-router-haproxy28",
			"--haproxy-image", "3.2=q/r@sha256:haproxy-router-haproxy32", "--default-haproxy-version=3.2", "--canary-image=q/r@sha256:cluster-ingress-operator",
			"--release-version", "5.0.1", "--metrics-listen-addr", "0.0.0.0:60000"},
		Env: map[string]string{"RELEASE_VERSION": "5.0.1", "IMAGE": "q/r@sha256:haproxy-router", "CANARY_IMAGE": "q/r@sha256:cluster-ingress-operator",
			"HAPROXY_28_IMAGE": "q/r@sha256:haproxy-router-haproxy28", "HAPROXY_32_IMAGE": "q/r@sha256:haproxy-router-haproxy32", "DEFAULT_HAPROXY_VERSION": "3.2",
			"KUBECONFIG": "/etc/kubernetes/kubeconfig", "HTTP_PROXY": "http://127.0.0.1:8090", "HTTPS_PROXY": "http://127.0.0.1:8090", "NO_PROXY": "kube-apiserver"},
		Read:  func(string) ([]byte, error) { return nil, ErrLater },
		Image: func(reference string) string { return reference[strings.LastIndex(reference, ":")+1:] },
	}
}

// A checker refuses whatever is unknown, missing or otherwise than it is documented, and says what.
func TestCheck(t *testing.T) {
	replace := func(from, to string) func(*Start) {
		return func(s *Start) {
			for i := range s.Args {
				s.Args[i] = strings.ReplaceAll(s.Args[i], from, to)
			}
		}
	}
	for name, test := range map[string]struct {
		change func(*Start)
		want   string
	}{
		"as told":          {func(*Start) {}, ""},
		"unknown flag":     {func(s *Start) { s.Args = append(s.Args, "--leader-elect=true") }, "flag --leader-elect=true is unknown"},
		"missing flag":     {func(s *Start) { s.Args = s.Args[:len(s.Args)-2] }, "flag --metrics-listen-addr is missing"},
		"other value":      {replace("0.0.0.0:60000", ":60000"), `flag --metrics-listen-addr is ":60000", want "0.0.0.0:60000"`},
		"value lost":       {func(s *Start) { s.Args = s.Args[:len(s.Args)-1] }, "flag --metrics-listen-addr has no value"},
		"twice":            {func(s *Start) { s.Args = append(s.Args, "--namespace=x") }, "flag --namespace is given 2 times"},
		"other words":      {replace("start", "run"), `arguments that are no flags are ["run"]`},
		"one of several":   {replace("2.8=", "2.9="), "flag --haproxy-image is"},
		"another version":  {func(s *Start) { s.Release = "4.22.0" }, "flag --haproxy-image=2.8"},
		"missing variable": {func(s *Start) { delete(s.Env, "NO_PROXY") }, "variable NO_PROXY is missing"},
		"unknown variable": {func(s *Start) { s.Env["DEBUG"] = "1" }, "variable DEBUG is unknown"},
		"other variable":   {func(s *Start) { s.Env["HTTP_PROXY"] = "" }, `variable HTTP_PROXY is ""`},
		"another image":    {func(s *Start) { s.Env["CANARY_IMAGE"] = "q/r@sha256:coredns" }, "variable CANARY_IMAGE names the image of coredns, want cluster-ingress-operator"},
		"no file":          {func(s *Start) { s.Read = func(string) ([]byte, error) { return nil, errors.New("no such file") } }, "no such file"},
		"no kubeconfig":    {func(s *Start) { s.Read = func(string) ([]byte, error) { return []byte("kind: Config"), nil } }, "as kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			programs, err := Programs()
			if err != nil {
				t.Fatal(err)
			}
			s := asTold()
			s.Env = maps.Clone(s.Env)
			test.change(&s)
			wrong := Find(programs, "ingress-operator").Check(s)
			if test.want == "" && len(wrong) > 0 || test.want != "" && !slices.ContainsFunc(wrong, func(err error) bool { return strings.Contains(err.Error(), test.want) }) {
				t.Errorf("wrong is %v, want %q", wrong, test.want)
			}
		})
	}
}

// A configuration file of another kind, with a field that nothing is known of, or with another value is refused.
func TestConfig(t *testing.T) {
	const good = `apiVersion: config.openshift.io/v1
kind: GenericControllerConfig
servingInfo: {bindAddress: ":60000", bindNetwork: tcp, certFile: "", clientCA: "", keyFile: "", minTLSVersion: VersionTLS12, cipherSuites: [TLS_A, TLS_B], maxRequestsInFlight: 0, requestTimeoutSeconds: 0}
leaderElection: {leaseDuration: 0s, renewDeadline: 0s, retryPeriod: 0s}
`
	programs, err := Programs()
	if err != nil {
		t.Fatal(err)
	}
	known := *Find(programs, "cluster-image-registry-operator").Config
	for name, test := range map[string]struct{ from, to, want string }{
		"as told":       {"", "", ""},
		"another kind":  {"GenericControllerConfig", "OsinServerConfig", "want config.openshift.io/v1 GenericControllerConfig"},
		"unknown field": {"servingInfo:", "serving: {}\nservingInfo:", `unknown field "serving"`},
		"field set":     {"leaseDuration: 0s", "leaseDuration: 5s", "field leaderElection.leaseDuration is set"},
		"field missing": {"bindAddress: \":60000\", ", "", "field servingInfo.bindAddress is missing"},
		"other value":   {":60000", ":8443", `field servingInfo.bindAddress is ":8443"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := checking{start: Start{Read: func(string) ([]byte, error) { return []byte(strings.ReplaceAll(good, test.from, test.to)), nil }}}
			if test.from == "" {
				c.start.Read = func(string) ([]byte, error) { return []byte(good), nil }
			}
			c.config(known, known.Fields, "config.yaml")
			text := fmt.Sprint(errors.Join(c.wrong...))
			if test.want == "" && len(c.wrong) > 0 || !strings.Contains(text, test.want) {
				t.Errorf("wrong is %s, want %q", text, test.want)
			}
		})
	}
}

// The table says nothing that no program can be: forms compile, files are of a known nature, versions are versions.
func TestProgramsAreSound(t *testing.T) {
	programs, err := Programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		items := slices.Concat(p.Flags, p.Env, p.Files)
		if p.Config != nil {
			items = append(items, p.Config.Fields...)
			if _, known := kinds[p.Config.Kind]; !known || find(p.Flags, p.Config.Flag) == nil {
				t.Errorf("%s: configuration of kind %s by flag --%s", p.Name, p.Config.Kind, p.Config.Flag)
			}
		}
		for _, o := range p.Operands {
			if find(p.Env, o.Image) == nil || o.of("ns", "image").Spec.Template.Spec.Containers[0].Name != o.Container {
				t.Errorf("%s: operand %+v", p.Name, o)
			}
		}
		for _, item := range items {
			_, known := readers[item.Is]
			if !known && !slices.Contains([]string{"", "later", "pair", "client", "provider"}, item.Is) {
				t.Errorf("%s, %s: nobody knows what %q is", p.Name, item.Name, item.Is)
			}
			if strings.Contains(item.Name, "false") || strings.Contains(item.Name, "true") {
				t.Errorf("%s: %q is no name", p.Name, item.Name)
			}
			_ = item.judge("x", nil) // a form that does not compile ends the test
		}
	}
}
