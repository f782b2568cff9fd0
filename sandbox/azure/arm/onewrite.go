package arm

import (
	"net/http"
	"sync"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// writes are those under way of kinds that take one at a time, by the lower-cased id of what they are beneath.
type writes struct {
	mu sync.Mutex
	of map[string]bool
}

// begin refuses a write while another one beneath the same parent is being answered, where its kind demands that.
func (w *writes) begin(r *http.Request, p provider.Path, k *provider.Kind) (end func(), err error) {
	if provider.Verbs[r.Method] == "read" || p.Collection || k.OneWrite == nil {
		return func() {}, nil
	}
	parent := provider.Key(p.Parent())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[parent] {
		return nil, k.OneWrite.Refuse(p.Parent())
	}
	w.of[parent] = true
	took := k.OneWrite.Takes + fault.TakeOperation(r.Context()).Delay
	return func() {
		time.Sleep(took)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.of, parent)
	}, nil
}
