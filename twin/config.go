package twin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	kubecontrolplanev1 "github.com/openshift/api/kubecontrolplane/v1"
	openshiftcpv1 "github.com/openshift/api/openshiftcontrolplane/v1"
	osinv1 "github.com/openshift/api/osin/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// genericControllerConfig has the kind that its file says and OpenShift's type leaves out.
type genericControllerConfig struct {
	metav1.TypeMeta                  `json:",inline"`
	configv1.GenericControllerConfig `json:",inline"`
}

// openShiftControllerManagerConfig has what programs before 4.21 are told besides.
type openShiftControllerManagerConfig struct {
	openshiftcpv1.OpenShiftControllerManagerConfig `json:",inline"`
	KubeClientConfig                               configv1.KubeClientConfig `json:"kubeClientConfig"`
}

// kinds are the configuration files, and where their kinds are from.
var kinds = map[string]struct {
	version string
	of      func() any
}{
	"OpenShiftAPIServerConfig":         {openshiftcpv1.GroupVersion.String(), func() any { return &openshiftcpv1.OpenShiftAPIServerConfig{} }},
	"OpenShiftControllerManagerConfig": {openshiftcpv1.GroupVersion.String(), func() any { return &openShiftControllerManagerConfig{} }},
	"OsinServerConfig":                 {osinv1.GroupVersion.String(), func() any { return &osinv1.OsinServerConfig{} }},
	"GenericControllerConfig":          {configv1.GroupVersion.String(), func() any { return &genericControllerConfig{} }},
	"KubeAPIServerConfig":              {kubecontrolplanev1.GroupVersion.String(), func() any { return &kubecontrolplanev1.KubeAPIServerConfig{} }},
}

// providers are the kinds of identity providers.
var providers = map[string]func() any{
	"BasicAuthPasswordIdentityProvider": func() any { return &osinv1.BasicAuthPasswordIdentityProvider{} },
	"GitHubIdentityProvider":            func() any { return &osinv1.GitHubIdentityProvider{} },
	"GitLabIdentityProvider":            func() any { return &osinv1.GitLabIdentityProvider{} },
	"GoogleIdentityProvider":            func() any { return &osinv1.GoogleIdentityProvider{} },
	"HTPasswdPasswordIdentityProvider":  func() any { return &osinv1.HTPasswdPasswordIdentityProvider{} },
	"KeystonePasswordIdentityProvider":  func() any { return &osinv1.KeystonePasswordIdentityProvider{} },
	"LDAPPasswordIdentityProvider":      func() any { return &osinv1.LDAPPasswordIdentityProvider{} },
	"OpenIDIdentityProvider":            func() any { return &osinv1.OpenIDIdentityProvider{} },
	"RequestHeaderIdentityProvider":     func() any { return &osinv1.RequestHeaderIdentityProvider{} },
}

// config reads a configuration file strictly, and compares every field that is set with what is known of the file.
func (c *checking) config(of Config, known []Item, path string) {
	raw, err := c.start.Read(path)
	if errors.Is(err, ErrLater) {
		return
	}
	fields := map[string]any{}
	if err == nil {
		err = strict(raw, of.Kind, &fields)
	}
	if err != nil {
		c.complain("configuration %s: %w", path, err)
		return
	}
	delete(fields, "apiVersion")
	delete(fields, "kind")
	set := map[string][]string{}
	flatten(set, "", fields, known)
	for _, item := range known {
		values := set[item.Name]
		delete(set, item.Name)
		if item.Any {
			c.below(set, item.Name)
			continue
		}
		c.field(item, values)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		c.complain("configuration %s: field %s is set to %q, and nothing is known of it", path, name, set[name])
	}
}

// below takes away what is below a field of which not everything is known.
func (c *checking) below(set map[string][]string, name string) {
	maps.DeleteFunc(set, func(path string, _ []string) bool { return strings.HasPrefix(path, name+".") })
}

func (c *checking) field(item Item, values []string) {
	what := "configuration: field " + item.Name
	if len(values) == 0 {
		if !item.Optional {
			c.complain("%s is missing", what)
		}
		return
	}
	for _, value := range values {
		if err := item.judge(value, c.vars); err != nil && !item.Whole {
			c.complain("%s %w", what, err)
		}
		c.image(what, item.Image, value)
		if item.Is == "provider" {
			c.provider(value)
			continue
		}
		for name := range strings.SplitSeq(value, ",") {
			c.file(what, item.Is, name)
		}
	}
}

// provider reads what an identity provider is told, and the files that it names.
func (c *checking) provider(raw string) {
	var head metav1.TypeMeta
	if err := json.Unmarshal([]byte(raw), &head); err != nil {
		c.complain("identity provider: %w", err)
		return
	}
	of, known := providers[head.Kind]
	if !known || head.APIVersion != osinv1.GroupVersion.String() {
		c.complain("identity provider is of kind %s %s, which is none", head.APIVersion, head.Kind)
		return
	}
	if err := yaml.UnmarshalStrict([]byte(raw), of()); err != nil {
		c.complain("identity provider %s: %w", head.Kind, err)
		return
	}
	var fields any
	if err := json.Unmarshal([]byte(raw), &fields); err != nil {
		c.complain("identity provider %s: %w", head.Kind, err)
		return
	}
	c.mounted(head.Kind, fields)
}

// mounted sees that the files of a provider are there, wherever they are named.
func (c *checking) mounted(kind string, field any) {
	switch field := field.(type) {
	case string:
		if strings.HasPrefix(field, "/etc/oauth/idp/") {
			c.file("identity provider "+kind, "file", field)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(field)) {
			c.mounted(kind, field[name])
		}
	case []any:
		for _, one := range field {
			c.mounted(kind, one)
		}
	}
}

// strict reads a file of the kind that may have nothing unknown.
func strict(raw []byte, kind string, into *map[string]any) error {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(raw, &head); err != nil {
		return err
	}
	of, known := kinds[kind]
	if !known {
		return fmt.Errorf("table of programs: nobody knows kind %s", kind)
	}
	if head.Kind != kind || head.APIVersion != of.version {
		return fmt.Errorf("is of kind %s %s, want %s %s", head.APIVersion, head.Kind, of.version, kind)
	}
	if err := yaml.UnmarshalStrict(raw, of.of()); err != nil {
		return err
	}
	return yaml.Unmarshal(raw, into)
}

// flatten gives the fields that are set by their paths, several of one path where a list of objects has them. A list of values is one
// field, and so is whatever the table knows as a whole.
func flatten(into map[string][]string, path string, field any, known []Item) {
	if item := find(known, path); item != nil && (item.Whole || item.Is == "provider") {
		if raw, err := json.Marshal(field); err == nil && string(raw) != "{}" && string(raw) != "null" {
			into[path] = append(into[path], string(raw))
		}
		return
	}
	switch field := field.(type) {
	case map[string]any:
		for name, below := range field {
			flatten(into, strings.TrimPrefix(path+"."+name, "."), below, known)
		}
	case []any:
		if len(field) > 0 {
			flattenList(into, path, field, known)
		}
	default:
		if text := textOf(field); !slices.Contains(unset, text) {
			into[path] = append(into[path], text)
		}
	}
}

// unset are values of fields that nobody has set.
var unset = []string{"", "0", "0s", "false"}

func flattenList(into map[string][]string, path string, list []any, known []Item) {
	if _, objects := list[0].(map[string]any); objects {
		for _, one := range list {
			flatten(into, path+"[]", one, known)
		}
		return
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, textOf(one))
	}
	into[path] = append(into[path], strings.Join(texts, ","))
}

func textOf(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}
