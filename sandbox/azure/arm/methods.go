package arm

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/policy"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/resources"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/rights"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

func (c *call) read() (*provider.Reply, error) {
	r := c.Get(c.Path.Raw)
	if r == nil {
		if d := c.InlineChild(c.Path); d != nil {
			return provider.Answer(http.StatusOK, d), nil
		}
		if err := c.parentExists(); err != nil {
			return nil, err
		}
		return nil, c.NotFound(c.Path)
	}
	if c.Req.Method == http.MethodHead {
		return provider.Answer(http.StatusNoContent, nil), nil
	}
	return c.Show(http.StatusOK, r), nil
}

// parentExists makes a request inside a missing resource group fail as Azure does.
func (c *call) parentExists() error {
	group := c.Path.ResourceGroup()
	if group != "" && !strings.EqualFold(group, c.Path.Raw) && c.Get(group) == nil {
		return provider.GroupNotFound(provider.LastSegment(group))
	}
	parent := c.Path.Parent()
	if parent == "" || c.Kinds.Of(c.Path.Type).Orphan || c.Get(parent) != nil {
		return nil
	}
	if c.Req.Method == http.MethodGet || c.Req.Method == http.MethodHead {
		p, err := provider.ParsePath(parent)
		if err != nil {
			return provider.BadRequest("InvalidResourceId", "%v", err)
		}
		return c.NotFound(p)
	}
	return provider.Failf(http.StatusNotFound, "ParentResourceNotFound", "Failed to perform '%s' on resource(s) of type '%s', because the parent resource '%s' could not be found.", provider.Verbs[c.Req.Method], c.Path.Type[strings.Index(c.Path.Type, "/")+1:], parent)
}

func (c *call) put() (*provider.Reply, error) {
	if c.Path.Collection {
		return nil, provider.BadRequest("InvalidResourceName", "'%s' is a collection; PUT needs the name of a resource.", c.Path.Raw)
	}
	if err := c.parentExists(); err != nil {
		return nil, err
	}
	if out, err := c.putInline(); out != nil || err != nil {
		return out, err
	}
	k := c.Kinds.Of(c.Path.Type)
	old := c.Get(c.Path.Raw)
	oldBody, err := c.takeOver(k, old)
	if err != nil {
		return nil, err
	}
	r := c.Save(c.CanonicalID(c.Path), k.TypeName(c.Path.Type), c.Body)
	props := wire.EnsureProps(c.Body)
	if !k.NoState {
		props["provisioningState"] = "Succeeded"
	}
	tag(r.Type, c.Body)
	if err := c.explode(r, true); err != nil {
		return nil, err
	}
	if err := numberInline(k, r); err != nil {
		return nil, err
	}
	if k.Put != nil {
		if err := k.Put(c.Call, r, oldBody); err != nil {
			return nil, err
		}
	}
	if err := policy.Allows(c.Call, r); err != nil {
		return nil, err
	}
	if k.Async && c.OperationFault().Code != "" {
		props["provisioningState"] = "Failed"
	}
	return c.putReply(k, r, old == nil), nil
}

// takeOver checks what is put against what is there, and adds what a PUT does not take away. It returns the old body, nil without one.
func (c *call) takeOver(k *provider.Kind, old *provider.Resource) (wire.Doc, error) {
	if err := c.preconditions(old); err != nil {
		return nil, err
	}
	var oldBody wire.Doc
	if old != nil {
		oldBody = old.Body
		carry(k, oldBody, c.Body)
	} else if err := k.Name.Check(c.Path.Name()); err != nil {
		return nil, err
	}
	normalizeLocation(c.Body)
	if err := resources.CheckLocation(c.Call, k); err != nil {
		return nil, err
	}
	if err := resources.CheckZones(c.Call, k); err != nil {
		return nil, err
	}
	return oldBody, c.stays(oldBody)
}

// stays refuses to move a resource. A group has words of its own, and what Azure keeps nowhere in particular is not asked for its place.
func (c *call) stays(old wire.Doc) error {
	from, to := wire.Text(old, "location"), wire.Text(c.Body, "location")
	if from == "" || to == "" || from == to || from == "global" || strings.EqualFold(c.Path.Type, provider.TypeResourceGroup) {
		return nil
	}
	return provider.Conflict("InvalidResourceLocation", "The resource '%s' already exists in location '%s' in resource group '%s'. A resource with the same name cannot be created in location '%s'. Please select a new resource name.",
		c.Path.Name(), from, provider.LastSegment(c.Path.ResourceGroup()), to)
}

func (c *call) putReply(k *provider.Kind, r *provider.Resource, created bool) *provider.Reply {
	status := http.StatusOK
	if created && !k.CreateOK || k.Always201 {
		status = http.StatusCreated
	}
	if !k.Async {
		return c.Show(status, r)
	}
	state := provider.Updating
	if created {
		state = cmp.Or(k.Started, provider.Updating)
	}
	done := c.StartOperation(r.ID, state)
	out := c.Show(status, r)
	if created {
		wire.EnsureProps(out.Body.(wire.Doc))["provisioningState"] = cmp.Or(k.Started, "Creating")
	}
	c.OperationHeaders(out, done, false)
	return out
}

func (c *call) preconditions(old *provider.Resource) error {
	if c.Req.Header.Get("If-None-Match") == "*" && old != nil {
		return provider.Failf(http.StatusPreconditionFailed, "PreconditionFailed", "The condition '*' in the If-None-Match header was not satisfied. The current resource exists.")
	}
	m := c.Req.Header.Get("If-Match")
	if m == "" {
		return nil
	}
	if old == nil || m != "*" && m != wire.Text(old.Body, "etag") {
		return provider.Failf(http.StatusPreconditionFailed, "PreconditionFailed", "The condition '%s' in the If-Match header was not satisfied.", m)
	}
	return nil
}

func (c *call) patch() (*provider.Reply, error) {
	r := c.Edit(c.Path.Raw)
	if r == nil {
		if err := c.parentExists(); err != nil {
			return nil, err
		}
		return nil, c.NotFound(c.Path)
	}
	if err := c.preconditions(r); err != nil {
		return nil, err
	}
	for _, fixed := range []string{"id", "name", "type"} {
		delete(c.Body, fixed)
	}
	normalizeLocation(c.Body)
	if err := c.stays(r.Body); err != nil {
		return nil, err
	}
	k := c.Kinds.Of(r.Type)
	before := c.View(r)
	wire.Merge(r.Body, c.Body)
	tag(r.Type, r.Body)
	if err := c.explode(r, false); err != nil {
		return nil, err
	}
	if err := numberInline(k, r); err != nil {
		return nil, err
	}
	if k.Put != nil {
		if err := k.Put(c.Call, r, before); err != nil {
			return nil, err
		}
	}
	if err := policy.Allows(c.Call, r); err != nil {
		return nil, err
	}
	return c.patchReply(k, r), nil
}

func (c *call) patchReply(k *provider.Kind, r *provider.Resource) *provider.Reply {
	if k.Patched == 0 {
		return c.Show(http.StatusOK, r)
	}
	done := c.StartOperation(r.ID, provider.Updating)
	out := c.Show(k.Patched, r)
	c.OperationHeaders(out, done, k.Patched == http.StatusAccepted)
	return out
}

func (c *call) delete() (*provider.Reply, error) {
	r := c.Get(c.Path.Raw)
	if r == nil {
		if out, err := c.deleteInline(); out != nil || err != nil {
			return out, err
		}
		if strings.EqualFold(c.Path.Type, provider.TypeResourceGroup) {
			return nil, c.NotFound(c.Path)
		}
		if err := c.parentExists(); err != nil {
			return nil, err
		}
		return provider.Answer(http.StatusNoContent, nil), nil
	}
	k := c.Kinds.Of(r.Type)
	if m := c.Req.Header.Get("If-Match"); m != "" {
		if err := c.preconditions(r); err != nil {
			return nil, err
		}
	}
	if k.Guard != nil {
		if err := k.Guard(c.Call, r); err != nil {
			return nil, err
		}
	}
	if k.Async || k.AsyncDelete {
		return c.deleteLater(r), nil
	}
	last := c.View(r)
	c.Remove(r.ID)
	if k.DeleteBody {
		return provider.Answer(http.StatusOK, last), nil
	}
	return provider.Answer(http.StatusOK, nil), nil
}

// deleteLater begins a deletion that is a long-running operation. One that is under way goes on.
func (c *call) deleteLater(r *provider.Resource) *provider.Reply {
	out := provider.Answer(http.StatusAccepted, nil)
	end := c.LeavesAt(r.ID)
	if end.IsZero() {
		end = c.OperationEnd()
		switch fails := c.OperationFault().Code != ""; {
		case fails:
		case c.Pace.Deferred():
			c.Leave(r.ID, end)
		default:
			c.Remove(r.ID)
		}
	}
	c.OperationHeaders(out, end, true)
	return out
}

func (c *call) list() (*provider.Reply, error) {
	if err := c.parentExists(); err != nil {
		return nil, err
	}
	k := c.Kinds.Of(c.Path.Type)
	typ := k.TypeName(c.Path.Type)
	scope := c.Path.Up()
	if c.Path.Depth() == 1 && !strings.EqualFold(c.Path.Type, provider.TypeResourceGroup) {
		scope = c.Path.Scope
	}
	if d := c.inlineList(); d != nil {
		return provider.Answer(http.StatusOK, wire.Doc{"value": d}), nil
	}
	action, at := rights.Action(http.MethodGet, c.Path)
	all := rights.Allowed(c.Call, action, at)
	match := provider.ParseFilter(c.Req.URL.Query().Get("$filter"))
	out := []any{}
	for _, r := range c.Within(scope, typ) {
		if match(r) && (k.Lists == nil || k.Lists(c.Call, r)) && (all || rights.Visible(c.Call, r)) {
			out = append(out, c.Shown(r))
		}
	}
	return provider.Answer(http.StatusOK, wire.Doc{"value": out}), nil
}

// normalizeLocation accepts "East US" for "eastus".
func normalizeLocation(body wire.Doc) {
	if l := wire.Text(body, "location"); l != "" {
		body["location"] = strings.ToLower(strings.ReplaceAll(l, " ", ""))
	}
}
