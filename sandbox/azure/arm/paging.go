package arm

import (
	"net/http"
	"strconv"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// topOf cuts a list to the size that $top asks for; the rest is behind the nextLink.
func topOf(r *http.Request, out *provider.Reply) {
	doc, _ := out.Body.(wire.Doc)
	list := wire.List(doc, "value")
	size, err := strconv.Atoi(r.URL.Query().Get("$top"))
	if r.Method != http.MethodGet || err != nil || size < 1 || size >= len(list) {
		return
	}
	doc["value"] = list[:size]
	doc["nextLink"] = fault.NextLink(r, size, size)
}
