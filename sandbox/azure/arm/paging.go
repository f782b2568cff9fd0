package arm

import (
	"net/http"
	"strconv"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

const (
	smallestPage = 2
	mostPages    = 4 // of a list, when nobody asks for a size
)

// page cuts a list to the size that $top asks for, and any list that Azure's contract has in pages to a small one: the rest is behind the
// nextLink, and who does not follow it misses it. A request for a later page says its size and is cut where faults are planned.
func page(r *http.Request, out *provider.Reply) {
	doc, _ := out.Body.(wire.Doc)
	list := wire.List(doc, "value")
	if r.Method != http.MethodGet || fault.LaterPage(r) {
		return
	}
	size, err := strconv.Atoi(r.URL.Query().Get("$top"))
	if err != nil || size < 1 {
		if !out.Pages {
			return
		}
		size = max(smallestPage, (len(list)+mostPages-1)/mostPages)
	}
	if size >= len(list) {
		return
	}
	doc["value"] = list[:size]
	doc["nextLink"] = fault.NextLink(r, size, size)
}
