package arm

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func (c *call) read() (*reply, error) {
	r := c.get(c.path.Raw)
	if r == nil {
		if d := c.inlineChild(c.path); d != nil {
			return answer(http.StatusOK, d), nil
		}
		if err := c.parentExists(); err != nil {
			return nil, err
		}
		return nil, notFound(c.path)
	}
	if c.req.Method == http.MethodHead {
		return answer(http.StatusNoContent, nil), nil
	}
	return c.show(http.StatusOK, r), nil
}

func (c *call) show(status int, r *Resource) *reply {
	d := c.view(r)
	c.expand(r, d)
	out := answer(status, d)
	if e := wire.Text(d, "etag"); e != "" {
		out.header.Set("ETag", e)
	}
	return out
}

// parentExists makes a request inside a missing resource group fail as Azure does.
func (c *call) parentExists() error {
	group := c.path.ResourceGroup()
	if group != "" && !strings.EqualFold(group, c.path.Raw) && c.get(group) == nil {
		return groupNotFound(lastSegment(group))
	}
	parent := c.path.Parent()
	if parent == "" || kindOf(c.path.Type).orphan || c.get(parent) != nil {
		return nil
	}
	if c.req.Method == http.MethodGet || c.req.Method == http.MethodHead {
		p, err := ParsePath(parent)
		if err != nil {
			return badRequest("InvalidResourceId", "%v", err)
		}
		return notFound(p)
	}
	return failf(http.StatusNotFound, "ParentResourceNotFound", "Failed to perform '%s' on resource(s) of type '%s', because the parent resource '%s' could not be found.", verbs[c.req.Method], c.path.Type[strings.Index(c.path.Type, "/")+1:], parent)
}

func (c *call) put() (*reply, error) {
	if c.path.Collection {
		return nil, badRequest("InvalidResourceName", "'%s' is a collection; PUT needs the name of a resource.", c.path.Raw)
	}
	if err := c.parentExists(); err != nil {
		return nil, err
	}
	if out, err := c.putInline(); out != nil || err != nil {
		return out, err
	}
	k := kindOf(c.path.Type)
	old := c.get(c.path.Raw)
	if err := c.preconditions(old); err != nil {
		return nil, err
	}
	if old == nil {
		if err := checkName(c.path); err != nil {
			return nil, err
		}
	}
	var oldBody Doc
	if old != nil {
		oldBody = old.Body
		carry(k, oldBody, c.body)
	}
	normalizeLocation(c.body)
	if err := c.checkLocation(k); err != nil {
		return nil, err
	}
	if err := c.stays(oldBody); err != nil {
		return nil, err
	}
	r := c.save(c.canonicalID(c.path), k.typeName(c.path.Type), c.body)
	props := wire.EnsureProps(c.body)
	if !k.noState {
		props["provisioningState"] = "Succeeded"
	}
	c.body["etag"] = etag()
	if err := c.explode(r); err != nil {
		return nil, err
	}
	k.numberInline(r)
	if k.put != nil {
		if err := k.put(c, r, oldBody); err != nil {
			return nil, err
		}
	}
	if err := c.policyAllows(r); err != nil {
		return nil, err
	}
	if k.async && c.operationFault().Code != "" {
		props["provisioningState"] = "Failed"
	}
	return c.putReply(k, r, old == nil), nil
}

// stays refuses to move a resource. A group has words of its own, and what Azure keeps nowhere in particular is not asked for its place.
func (c *call) stays(old Doc) error {
	from, to := wire.Text(old, "location"), wire.Text(c.body, "location")
	if from == "" || to == "" || from == to || from == "global" || strings.EqualFold(c.path.Type, typeResourceGroup) {
		return nil
	}
	return conflict("InvalidResourceLocation", "The resource '%s' already exists in location '%s' in resource group '%s'. A resource with the same name cannot be created in location '%s'. Please select a new resource name.",
		c.path.Name(), from, lastSegment(c.path.ResourceGroup()), to)
}

func (c *call) putReply(k *Kind, r *Resource, created bool) *reply {
	status := http.StatusOK
	if created && !k.createOK || k.always201 {
		status = http.StatusCreated
	}
	if !k.async {
		return c.show(status, r)
	}
	done := c.startOperation(r.ID)
	out := c.show(status, r)
	if created {
		wire.EnsureProps(out.body.(Doc))["provisioningState"] = cmp.Or(k.started, "Creating")
	}
	c.operationHeaders(out, done, false)
	return out
}

func (c *call) preconditions(old *Resource) error {
	if c.req.Header.Get("If-None-Match") == "*" && old != nil {
		return failf(http.StatusPreconditionFailed, "PreconditionFailed", "The condition '*' in the If-None-Match header was not satisfied. The current resource exists.")
	}
	m := c.req.Header.Get("If-Match")
	if m == "" {
		return nil
	}
	if old == nil || m != "*" && m != wire.Text(old.Body, "etag") {
		return failf(http.StatusPreconditionFailed, "PreconditionFailed", "The condition '%s' in the If-Match header was not satisfied.", m)
	}
	return nil
}

func (c *call) patch() (*reply, error) {
	r := c.edit(c.path.Raw)
	if r == nil {
		if err := c.parentExists(); err != nil {
			return nil, err
		}
		return nil, notFound(c.path)
	}
	if err := c.preconditions(r); err != nil {
		return nil, err
	}
	for _, fixed := range []string{"id", "name", "type"} {
		delete(c.body, fixed)
	}
	normalizeLocation(c.body)
	if err := c.stays(r.Body); err != nil {
		return nil, err
	}
	k := kindOf(r.Type)
	before := c.view(r)
	wire.Merge(r.Body, c.body)
	r.Body["etag"] = etag()
	if err := c.explode(r); err != nil {
		return nil, err
	}
	k.numberInline(r)
	if k.put != nil {
		if err := k.put(c, r, before); err != nil {
			return nil, err
		}
	}
	if err := c.policyAllows(r); err != nil {
		return nil, err
	}
	return c.show(http.StatusOK, r), nil
}

func (c *call) delete() (*reply, error) {
	r := c.get(c.path.Raw)
	if r == nil {
		if out, err := c.deleteInline(); out != nil || err != nil {
			return out, err
		}
		if strings.EqualFold(c.path.Type, typeResourceGroup) {
			return nil, notFound(c.path)
		}
		if err := c.parentExists(); err != nil {
			return nil, err
		}
		return answer(http.StatusNoContent, nil), nil
	}
	k := kindOf(r.Type)
	if m := c.req.Header.Get("If-Match"); m != "" {
		if err := c.preconditions(r); err != nil {
			return nil, err
		}
	}
	if k.guard != nil {
		if err := k.guard(c, r); err != nil {
			return nil, err
		}
	}
	last := c.view(r)
	async := k.async || k.asyncDelete
	if !async || c.operationFault().Code == "" {
		c.remove(r.ID)
	}
	switch {
	case async:
		out := answer(http.StatusAccepted, nil)
		c.operationHeaders(out, c.operationEnd(), true)
		return out, nil
	case k.deleteBody:
		return answer(http.StatusOK, last), nil
	}
	return answer(http.StatusOK, nil), nil
}

func (c *call) list() (*reply, error) {
	if err := c.parentExists(); err != nil {
		return nil, err
	}
	k := kindOf(c.path.Type)
	typ := k.typeName(c.path.Type)
	scope := c.path.Up()
	if c.path.Depth() == 1 && !strings.EqualFold(c.path.Type, typeResourceGroup) {
		scope = c.path.Scope
	}
	if d := c.inlineList(); d != nil {
		return answer(http.StatusOK, Doc{"value": d}), nil
	}
	action, at := actionOf(http.MethodGet, c.path)
	all := c.allowed(action, at)
	match := parseFilter(c.req.URL.Query().Get("$filter"))
	out := []any{}
	for _, r := range c.within(scope, typ) {
		if match(r) && c.nameFits(r) && (all || c.visible(r)) {
			d := c.view(r)
			c.expand(r, d)
			out = append(out, d)
		}
	}
	return answer(http.StatusOK, Doc{"value": out}), nil
}

// carry keeps what a PUT does not repeat: read-only properties, tags and location.
func carry(k *Kind, old, body Doc) {
	from, to := wire.Props(old), wire.EnsureProps(body)
	for _, f := range k.keep {
		if v, ok := from[f]; ok {
			to[f] = v
		}
	}
	if body["tags"] == nil && old["tags"] != nil && k.Type != typeResourceGroup {
		body["tags"] = old["tags"]
	}
	if body["location"] == nil && old["location"] != nil {
		body["location"] = old["location"]
	}
}

// normalizeLocation accepts "East US" for "eastus".
func normalizeLocation(body Doc) {
	if l := wire.Text(body, "location"); l != "" {
		body["location"] = strings.ToLower(strings.ReplaceAll(l, " ", ""))
	}
}
