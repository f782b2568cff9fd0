// Package deployments is Microsoft.Resources/deployments of the embedded Azure. A deployment puts the resources of its template one after the
// other, by the rules of any PUT, as its caller. Where one is refused the whole deployment is, before anything is made: Azure's preflight finds
// the same for most mistakes.
package deployments

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/template"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const typeDeployment = "Microsoft.Resources/deployments"

// Deployments are put into resource groups, and into the subscription.
const (
	inGroup        = "subscriptions/*/resourcegroups/*/providers/microsoft.resources/deployments/*"
	inSubscription = "subscriptions/*/providers/microsoft.resources/deployments/*"
)

// Spec is what the gateway serves of deployments.
var Spec = provider.Spec{Namespace: "Microsoft.Resources",
	Kinds: []*provider.Kind{{Type: typeDeployment, Async: true, Started: "Accepted", NoLocation: true, Put: putDeployment}},
	Routes: []provider.Route{
		{Method: "POST", Pattern: inGroup + "/validate", Handle: validateDeployment},
		{Method: "POST", Pattern: inSubscription + "/validate", Handle: validateDeployment},
		{Method: "GET", Pattern: inGroup + "/operations", Handle: deploymentOperations},
		{Method: "GET", Pattern: inSubscription + "/operations", Handle: deploymentOperations},
	}}

func putDeployment(c *provider.Call, r *provider.Resource, _ wire.Doc) error {
	p := wire.EnsureProps(r.Body)
	source := wire.Sub(p, "template")
	delete(p, "template")
	switch mode := wire.Text(p, "mode"); {
	case p["templateLink"] != nil:
		return provider.BadRequest("InvalidContentLink", "The embedded Azure reads no templates from elsewhere: send the template in the request.")
	case len(source) == 0:
		return provider.BadRequest("InvalidRequestContent", "The request content was invalid: the properties of a deployment need 'template'.")
	case !strings.EqualFold(mode, "Incremental"):
		return provider.BadRequest("InvalidDeploymentMode", "The deployment mode '%s' is not supported by the embedded Azure: use Incremental.", mode)
	}
	plan, err := template.Parse(source, wire.Sub(p, "parameters"), surroundings(c, r))
	if err != nil {
		return deploymentError(r, err)
	}
	made := []any{}
	outputs, err := plan.Deploy(func(res *template.Resource, body wire.Doc) error {
		made = append(made, wire.Doc{"id": res.ID})
		return c.Gateway.Deploy(c, res.ID, res.APIVersion, body)
	})
	if err != nil {
		return deploymentError(r, err)
	}
	p["mode"] = "Incremental"
	p["parameters"] = shownParameters(source, wire.Sub(p, "parameters"))
	p["outputs"], p["outputResources"] = outputs, made
	p["timestamp"], p["duration"], p["correlationId"] = time.Now().UTC().Format(time.RFC3339Nano), "PT0S", uuid.NewString()
	p["providers"], p["dependencies"] = []any{}, []any{}
	return nil
}

// shownParameters leaves out what the template declares as secret.
func shownParameters(source, given wire.Doc) wire.Doc {
	out := wire.Doc{}
	for name, v := range given {
		declared := wire.Doc{}
		for k, d := range wire.Sub(source, "parameters") {
			if strings.EqualFold(k, name) {
				declared, _ = d.(wire.Doc)
			}
		}
		typ := wire.Text(declared, "type")
		if holder, ok := v.(wire.Doc); ok && !strings.HasPrefix(strings.ToLower(typ), "secure") {
			out[name] = wire.Doc{"type": typ, "value": holder["value"]}
		}
	}
	return out
}

func surroundings(c *provider.Call, r *provider.Resource) template.Surroundings {
	out := template.Surroundings{Name: r.Name, Subscription: c.Subscription, Tenant: c.Tenant, Reference: func(id string) (wire.Doc, bool) {
		found := c.Get(id)
		if found == nil {
			return nil, false
		}
		return c.View(found), true
	}}
	if group := c.Get(provider.ResourceGroupOf(r.ID)); group != nil {
		out.ResourceGroup = c.View(group)
	}
	return out
}

func deploymentError(r *provider.Resource, err error) error {
	var wrong *template.Error
	if errors.As(err, &wrong) {
		return provider.BadRequest("InvalidTemplate", "%s", wrong.Message)
	}
	var refused *provider.Error
	if !errors.As(err, &refused) {
		return err
	}
	out := provider.BadRequest("InvalidTemplateDeployment", "The template deployment '%s' is not valid according to the validation procedure. The tracking id is '%s'. See inner errors for details.", r.Name, uuid.NewString())
	out.Extra = wire.Doc{"details": []any{refused.Document()}}
	return out
}

// validateDeployment does everything and keeps nothing.
func validateDeployment(c *provider.Call) (*provider.Reply, error) {
	c.Discard = true
	p, err := provider.ParsePath(c.Path.Up())
	if err != nil {
		return nil, provider.BadRequest("InvalidResourceId", "%v", err)
	}
	if group := p.ResourceGroup(); group != "" && c.Get(group) == nil {
		return nil, provider.GroupNotFound(provider.LastSegment(group))
	}
	r := c.Save(c.CanonicalID(p), typeDeployment, c.Body)
	if err := putDeployment(c, r, nil); err != nil {
		return nil, err
	}
	props := wire.Props(r.Body)
	props["provisioningState"], props["validatedResources"] = "Succeeded", props["outputResources"]
	delete(props, "outputResources")
	return provider.Answer(http.StatusOK, r.Body), nil
}

func deploymentOperations(c *provider.Call) (*provider.Reply, error) {
	r, err := c.Parent()
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, made := range wire.Docs(wire.Props(r.Body), "outputResources") {
		target := wire.Doc{"id": made["id"]}
		if res := c.Get(wire.Text(made, "id")); res != nil {
			target["resourceType"], target["resourceName"] = res.Type, res.Name
		}
		name := strings.ToUpper(uuid.NewSHA1(uuid.NameSpaceURL, []byte(wire.Text(made, "id"))).String()[:16])
		out = append(out, wire.Doc{"id": r.ID + "/operations/" + name, "operationId": name,
			"properties": wire.Doc{"provisioningOperation": "Create", "provisioningState": "Succeeded", "statusCode": "OK", "targetResource": target}})
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}
