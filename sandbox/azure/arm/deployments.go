package arm

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/template"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// A deployment puts the resources of its template one after the other, by the rules of any PUT, as its caller. Where one is refused the whole
// deployment is, before anything is made: Azure's preflight finds the same for most mistakes.

const typeDeployment = "Microsoft.Resources/deployments"

func putDeployment(c *call, r *Resource, _ Doc) error {
	p := wire.EnsureProps(r.Body)
	source := wire.Sub(p, "template")
	delete(p, "template")
	switch mode := wire.Text(p, "mode"); {
	case p["templateLink"] != nil:
		return badRequest("InvalidContentLink", "The embedded Azure reads no templates from elsewhere: send the template in the request.")
	case len(source) == 0:
		return badRequest("InvalidRequestContent", "The request content was invalid: the properties of a deployment need 'template'.")
	case !strings.EqualFold(mode, "Incremental"):
		return badRequest("InvalidDeploymentMode", "The deployment mode '%s' is not supported by the embedded Azure: use Incremental.", mode)
	}
	plan, err := template.Parse(source, wire.Sub(p, "parameters"), c.surroundings(r))
	if err != nil {
		return c.deploymentError(r, err)
	}
	made := []any{}
	outputs, err := plan.Deploy(func(res *template.Resource, body Doc) error {
		made = append(made, Doc{"id": res.ID})
		return c.deploy(res, body)
	})
	if err != nil {
		return c.deploymentError(r, err)
	}
	p["mode"] = "Incremental"
	p["parameters"] = shownParameters(source, wire.Sub(p, "parameters"))
	p["outputs"], p["outputResources"] = outputs, made
	p["timestamp"], p["duration"], p["correlationId"] = time.Now().UTC().Format(time.RFC3339Nano), "PT0S", uuid.NewString()
	p["providers"], p["dependencies"] = []any{}, []any{}
	return nil
}

// shownParameters leaves out what the template declares as secret.
func shownParameters(source, given Doc) Doc {
	out := Doc{}
	for name, v := range given {
		declared := Doc{}
		for k, d := range wire.Sub(source, "parameters") {
			if strings.EqualFold(k, name) {
				declared, _ = d.(Doc)
			}
		}
		typ := wire.Text(declared, "type")
		if holder, ok := v.(Doc); ok && !strings.HasPrefix(strings.ToLower(typ), "secure") {
			out[name] = Doc{"type": typ, "value": holder["value"]}
		}
	}
	return out
}

func (c *call) surroundings(r *Resource) template.Surroundings {
	out := template.Surroundings{Name: r.Name, Subscription: c.Subscription, Tenant: c.Tenant, Reference: func(id string) (Doc, bool) {
		found := c.get(id)
		if found == nil {
			return nil, false
		}
		return c.view(found), true
	}}
	if group := c.get(resourceGroupOf(r.ID)); group != nil {
		out.ResourceGroup = c.view(group)
	}
	return out
}

func (c *call) deploy(res *template.Resource, body Doc) error {
	path, err := ParsePath(res.ID)
	if err != nil {
		return badRequest("InvalidResourceName", "The resource '%s' cannot be named so: %v.", res.ID, err)
	}
	if err := c.reachable(path); err != nil {
		return err
	}
	req := c.req.Clone(c.req.Context())
	req.Method, req.URL.Path = http.MethodPut, path.Raw
	req.Header.Del("If-Match")
	req.Header.Del("If-None-Match")
	one := call{Server: c.Server, tx: c.tx, req: req, path: path, body: body, caller: c.caller, injected: &fault.Operation{}}
	for _, allows := range []func(*call) error{(*call).served, (*call).authorize, (*call).registered, (*call).unlocked} {
		if err := allows(&one); err != nil {
			return err
		}
	}
	_, err = one.put()
	return err
}

func (c *call) deploymentError(r *Resource, err error) error {
	var wrong *template.Error
	if errors.As(err, &wrong) {
		return badRequest("InvalidTemplate", "%s", wrong.Message)
	}
	var refused *Error
	if !errors.As(err, &refused) {
		return err
	}
	out := badRequest("InvalidTemplateDeployment", "The template deployment '%s' is not valid according to the validation procedure. The tracking id is '%s'. See inner errors for details.", r.Name, uuid.NewString())
	out.Extra = Doc{"details": []any{refused.document()}}
	return out
}

// validateDeployment does everything and keeps nothing.
func (c *call) validateDeployment() (*reply, error) {
	c.discard = true
	p, err := ParsePath(c.path.Up())
	if err != nil {
		return nil, badRequest("InvalidResourceId", "%v", err)
	}
	if group := p.ResourceGroup(); group != "" && c.get(group) == nil {
		return nil, groupNotFound(lastSegment(group))
	}
	r := c.save(c.canonicalID(p), typeDeployment, c.body)
	if err := putDeployment(c, r, nil); err != nil {
		return nil, err
	}
	props := wire.Props(r.Body)
	props["provisioningState"], props["validatedResources"] = "Succeeded", props["outputResources"]
	delete(props, "outputResources")
	return answer(http.StatusOK, r.Body), nil
}

func (c *call) deploymentOperations() (*reply, error) {
	r, err := c.parent()
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, made := range wire.Docs(wire.Props(r.Body), "outputResources") {
		target := Doc{"id": made["id"]}
		if res := c.get(wire.Text(made, "id")); res != nil {
			target["resourceType"], target["resourceName"] = res.Type, res.Name
		}
		name := strings.ToUpper(uuid.NewSHA1(uuid.NameSpaceURL, []byte(wire.Text(made, "id"))).String()[:16])
		out = append(out, Doc{"id": r.ID + "/operations/" + name, "operationId": name,
			"properties": Doc{"provisioningOperation": "Create", "provisioningState": "Succeeded", "statusCode": "OK", "targetResource": target}})
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}
