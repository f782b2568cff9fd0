package resources

import (
	"net/http"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// tags is the tags resource of any resource.
func tags(c *provider.Call) (*provider.Reply, error) {
	r := c.Get(c.Path.Scope)
	if c.Req.Method != http.MethodGet {
		r = c.Edit(c.Path.Scope)
	}
	if r == nil {
		p, err := provider.ParsePath(c.Path.Scope)
		if err != nil {
			return nil, provider.BadRequest("InvalidResourceId", "%v", err)
		}
		return nil, c.NotFound(p)
	}
	given := wire.Sub(wire.Props(c.Body), "tags")
	switch op := wire.Text(c.Body, "operation"); {
	case c.Req.Method == http.MethodGet:
	case c.Req.Method == http.MethodDelete:
		delete(r.Body, "tags")
		return provider.Answer(http.StatusOK, nil), nil
	case c.Req.Method == http.MethodPut, op == "Replace":
		r.Body["tags"] = given
	case op == "Delete":
		for k := range given {
			dropTag(wire.Sub(r.Body, "tags"), k)
		}
	default:
		wire.Default(r.Body, "tags", wire.Doc{})
		for k, v := range given {
			dropTag(wire.Sub(r.Body, "tags"), k)
			wire.Sub(r.Body, "tags")[k] = v
		}
	}
	return provider.Answer(http.StatusOK, wire.Doc{"id": c.Path.Raw, "name": "default", "type": "Microsoft.Resources/tags",
		"properties": wire.Doc{"tags": wire.Sub(r.Body, "tags")}}), nil
}

// dropTag removes a tag, whatever the case of its name: https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources.
func dropTag(tags wire.Doc, name string) {
	for k := range tags {
		if strings.EqualFold(k, name) {
			delete(tags, k)
		}
	}
}
