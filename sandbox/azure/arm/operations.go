package arm

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// A long-running operation carries its own end in its URL, as Azure's do: so it survives a restart and nothing has to be kept. The state it
// leads to is stored when it starts.

// operationFault tells how the long-running operation that this request starts shall go wrong. Only a request that starts one may ask.
func (c *call) operationFault() fault.Operation {
	if c.injected == nil {
		f := fault.TakeOperation(c.req.Context())
		c.injected = &f
	}
	return *c.injected
}

// retryAfterMillis is what clients that know the header wait between polls; without any header Go's SDK would wait 30 s.
const retryAfterMillis = "50"

func (c *call) operationEnd() time.Time {
	return time.Now().Add(c.OperationTime + c.operationFault().Delay)
}

func (c *call) startOperation(id string) time.Time {
	end := c.operationEnd()
	c.setBusy(id, end)
	return end
}

func (c *call) operationHeaders(out *reply, end time.Time, location bool) {
	ns := "Microsoft.Resources"
	if segs := strings.SplitN(c.path.Type, "/", 2); c.path.Scope != "" {
		ns = segs[0]
	}
	failure := ""
	if f := c.operationFault(); f.Code != "" {
		failure = "&" + url.Values{"code": {f.Code}, "message": {f.Message}}.Encode()
	}
	build := func(what string) string {
		return fmt.Sprintf("https://%s/subscriptions/%s/providers/%s/locations/%s/%s/%s?api-version=%s&t=%d", c.req.Host, c.Subscription, ns,
			c.Location, what, uuid.NewString(), url.QueryEscape(c.req.URL.Query().Get("api-version")), end.UnixMilli()) + failure
	}
	if location {
		out.header.Set("Location", build("operationResults"))
	}
	if !location || !strings.EqualFold(c.path.Type, typeResourceGroup) {
		out.header.Set("Azure-AsyncOperation", build("operations"))
	}
	retrySoon(out)
}

func retrySoon(out *reply) {
	out.header.Set("Retry-After", "1")
	out.header.Set("Retry-After-Ms", retryAfterMillis)
}

// operation answers the polls, nil when the request is none.
func (s *Server) operation(r *http.Request) *reply {
	segs := strings.Split(strings.Trim(strings.ToLower(r.URL.Path), "/"), "/")
	if r.Method != http.MethodGet || len(segs) != 8 || segs[4] != "locations" || r.URL.Query().Get("t") == "" {
		return nil
	}
	millis, _ := strconv.ParseInt(r.URL.Query().Get("t"), 10, 64)
	done := time.Now().UnixMilli() >= millis
	code, message := r.URL.Query().Get("code"), r.URL.Query().Get("message")
	switch segs[6] {
	case "operations":
		out := answer(http.StatusOK, Doc{"id": r.URL.Path, "name": segs[7], "status": "Succeeded"})
		if !done {
			out.body.(Doc)["status"] = "InProgress"
			retrySoon(out)
		} else if code != "" {
			out.body.(Doc)["status"], out.body.(Doc)["error"] = "Failed", Doc{"code": code, "message": message}
		}
		return out
	case "operationresults":
		if done && code != "" {
			out := answer(http.StatusConflict, Doc{"error": Doc{"code": code, "message": message}})
			out.header.Set("x-ms-error-code", code)
			return out
		}
		if done {
			return answer(http.StatusNoContent, nil)
		}
		out := answer(http.StatusAccepted, nil)
		out.header.Set("Location", "https://"+r.Host+r.URL.RequestURI())
		retrySoon(out)
		return out
	}
	return nil
}
