package arm

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/access"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/resources"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// apiVersion that a call names; the gateway's own calls name none.
func (c *call) apiVersion() string { return c.Req.URL.Query().Get("api-version") }

// versionKnown refuses an api-version that Azure does not have for the type.
func (c *call) versionKnown() error {
	version, known := c.apiVersion(), schema.Versions(c.Path.Type)
	if version == "" || known == nil || slices.Contains(known, version) {
		return nil
	}
	ns, typ, _ := strings.Cut(c.Path.Type, "/")
	if c.Path.Scope == "" || typ == "" {
		return provider.BadRequest("InvalidApiVersionParameter", "The api-version '%s' is invalid. The supported versions are '%s'.", version, strings.Join(known, ","))
	}
	location := wire.Text(c.Body, "location")
	if r := c.Get(c.Path.Raw); r != nil && location == "" {
		location = wire.Text(r.Body, "location")
	}
	if location == "" {
		return provider.Failf(http.StatusNotFound, "InvalidResourceType", "The resource type '%s' could not be found in the namespace '%s' for api version '%s'. The supported api-versions are '%s'.",
			typ, ns, version, strings.Join(known, ","))
	}
	return provider.BadRequest("NoRegisteredProviderFound", "No registered resource provider found for location '%s' and API version '%s' for type '%s'. The supported api-versions are '%s'. The supported locations are '%s'.",
		location, version, typ, strings.Join(known, ", "), strings.Join(resources.RegionNames(c.Call), ", "))
}

// contract is what the tables say of the request, nil when they do not have it.
func (c *call) contract() *schema.Operation {
	if c.apiVersion() == "" {
		return nil
	}
	return schema.Find(c.Req.Method, c.Path.Type, c.Path.Collection, c.apiVersion())
}

// held runs what answers a request between the checks of its document.
func (c *call) held(answer func() (*provider.Reply, error)) (*provider.Reply, error) {
	if err := c.allows(); err != nil {
		return nil, err
	}
	out, err := answer()
	if err != nil {
		return nil, err
	}
	return out, c.refusal(true)
}

// wellFormed holds the request's document against the schema of its type, as the provider of the type does when it reads it.
func (c *call) wellFormed() error {
	if o := c.contract(); o != nil && len(c.Body) > 0 {
		c.wrong = o.Request(c.Body)
	}
	for _, p := range c.wrong {
		c.violated(access.SideRequest, p)
	}
	return c.refusal(false)
}

// refusal is what the first problem of the request comes to. Some wait until a provider has had its say, which has better words for most of them:
// what is missing, a value that is none of the possible ones, and what the envelope of other types has.
func (c *call) refusal(late bool) error {
	for _, p := range c.wrong {
		waits := p.Kind == schema.Missing || p.Kind == schema.Value || slices.Contains(envelope, p.Path)
		if waits != late {
			continue
		}
		if err := c.refuse(p); err != nil {
			return err
		}
	}
	return nil
}

// checkAnswer holds an answer against the schema of its type. What is wrong there is a fault of the embedded Azure: it is told, and not mended.
func (c *call) checkAnswer(out *provider.Reply) {
	if out == nil || out.Body == nil || out.Status >= http.StatusMultipleChoices || c.Req.Method == http.MethodHead {
		return
	}
	o := c.contract()
	if o == nil {
		return
	}
	body, problems := o.Answer(out.Body)
	out.Body, out.Pages = body, o.Pages()
	for _, p := range problems {
		c.violated(access.SideAnswer, p)
	}
}

func (c *call) violated(side string, p schema.Problem) {
	access.AddViolation(c.Req.Context(), access.Violation{Side: side, Method: c.Req.Method, Type: c.Kinds.Of(c.Path.Type).TypeName(c.Path.Type), APIVersion: c.apiVersion(), Problem: p.String()})
}

// envelope are the members of any resource that the resource manager itself knows.
var envelope = []string{"id", "name", "type", "location", "tags", "properties", "kind", "sku", "plan", "identity", "zones", "etag", "managedBy", "extendedLocation", "scale", "systemData"}

// refuse is what the provider of the type answers for a problem, nil for one that it takes no notice of.
func (c *call) refuse(p schema.Problem) error {
	ns, typ, _ := strings.Cut(strings.ToLower(c.Path.Type), "/")
	what := words(p)
	if p.Kind == schema.Unknown && !strings.Contains(p.Path, ".") && ns != "microsoft.resources" && !slices.Contains(envelope, p.Path) {
		return provider.BadRequest("InvalidRequestContent", "The request content was invalid and could not be deserialized: 'Could not find member '%s' on object of type 'ResourceDefinition'. Path '%s'.'.", p.Path, p.Path)
	}
	switch ns {
	case "microsoft.compute":
		err := provider.BadRequest("BadRequest", "%s", what)
		err.Extra = wire.Doc{"target": targetOf(typ) + "." + p.Path}
		return err
	case "microsoft.network":
		if strings.HasPrefix(typ, "dnszones") || strings.HasPrefix(typ, "privatednszones") {
			break
		}
		err := provider.BadRequest("InvalidRequestFormat", "Cannot parse the request.")
		err.Extra = wire.Doc{"details": []any{wire.Doc{"code": "InvalidJson", "message": what}}}
		return err
	}
	switch {
	case p.Kind == schema.Unknown:
		return nil
	case ns == "microsoft.storage":
		return provider.BadRequest("InvalidValuesForRequestParameters", "Values for request parameters are invalid: %s. For more information, see - https://aka.ms/storageaccountset-azstorage", p.Path)
	case ns == "microsoft.authorization":
		return provider.BadRequest("BadRequestFormat", "The request was incorrectly formatted.")
	case ns == "microsoft.resources":
		return provider.BadRequest("InvalidRequestContent", "The request content was invalid and could not be deserialized: '%s'.", what)
	}
	return provider.BadRequest("BadRequest", "%s", what)
}

// words are those of the parser that Azure's providers share.
func words(p schema.Problem) string {
	switch p.Kind {
	case schema.Unknown:
		return fmt.Sprintf("Could not find member '%s' on object of type '%s'. Path '%s'.", p.Member, p.Object, p.Path)
	case schema.Missing:
		return fmt.Sprintf("Required property '%s' not found in JSON. Path '%s'.", p.Member, p.Path)
	case schema.Value:
		return fmt.Sprintf("Error converting value to type '%s'%s. Path '%s'.", p.Object, p.Detail, p.Path)
	}
	return fmt.Sprintf("Unexpected value of '%s' on object of type '%s'%s. Path '%s'.", p.Member, p.Object, p.Detail, p.Path)
}

// targetOf is what the compute provider calls a document: vm, disk.
func targetOf(typ string) string {
	switch typ {
	case "virtualmachines":
		return "vm"
	case "disks":
		return "disk"
	}
	return typ
}
