package arm

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/arm/provider"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/store"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// operation answers the polls, nil when the request is none.
func (s *Server) operation(r *http.Request) *provider.Reply {
	segs := strings.Split(strings.Trim(strings.ToLower(r.URL.Path), "/"), "/")
	if r.Method != http.MethodGet || len(segs) != 8 || segs[4] != "locations" || r.URL.Query().Get("t") == "" {
		return nil
	}
	millis, _ := strconv.ParseInt(r.URL.Query().Get("t"), 10, 64)
	done := time.Now().UnixMilli() >= millis
	code, message := r.URL.Query().Get("code"), r.URL.Query().Get("message")
	if state, failure := s.outcome(r.URL.Query().Get(provider.OutcomeOf)); done && failure != nil {
		code, message = failure.Code, failure.Message
	} else if state != "" {
		done = false
	}
	switch segs[6] {
	case "operations":
		out := provider.Answer(http.StatusOK, wire.Doc{"id": r.URL.Path, "name": segs[7], "status": "Succeeded"})
		if !done {
			out.Body.(wire.Doc)["status"] = "InProgress"
			provider.RetrySoon(out)
		} else if code != "" {
			out.Body.(wire.Doc)["status"], out.Body.(wire.Doc)["error"] = "Failed", wire.Doc{"code": code, "message": message}
		}
		return out
	case "operationresults":
		if done && code != "" {
			out := provider.Answer(http.StatusConflict, wire.Doc{"error": wire.Doc{"code": code, "message": message}})
			out.Header.Set("x-ms-error-code", code)
			return out
		}
		if done {
			return provider.Answer(http.StatusNoContent, nil)
		}
		out := provider.Answer(http.StatusAccepted, nil)
		out.Header.Set("Location", "https://"+r.Host+r.URL.RequestURI())
		provider.RetrySoon(out)
		return out
	}
	return nil
}

// outcome is what the operation on a resource waits for beyond its time.
func (s *Server) outcome(id string) (state string, failure *provider.Error) {
	path, err := provider.ParsePath(id)
	kind := s.kinds.Of(path.Type)
	if err != nil || kind.Outcome == nil {
		return "", nil
	}
	s.store.View(func(tx *store.Tx) {
		state, failure = kind.Outcome(&provider.Call{Options: s.Options, Kinds: s.kinds, Running: s.running, Tx: tx}, path.Raw)
	})
	return state, failure
}
