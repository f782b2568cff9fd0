package machine

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

var wired = feed.Machine{ID: "/vm/W", VMID: "6f1b2c3d", Name: "w"}

// wire is a wire server that knows one machine, and asks it as that machine.
func wire(t *testing.T, note noteHealth) func(method, target, version, body string) *httptest.ResponseRecorder {
	t.Helper()
	handler := wireHandler(func(address string) (feed.Machine, feed.Subnet, bool) {
		return wired, feed.Subnet{}, address == "10.0.0.4"
	}, note)
	return func(method, target, version, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.RemoteAddr = "10.0.0.4:40000"
		r.Header.Set("X-Ms-Version", version)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
}

func report(incarnation, container, instance, health string) string {
	return fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?><Health><GoalStateIncarnation>%s</GoalStateIncarnation><Container><ContainerId>%s</ContainerId>`+
		`<RoleInstanceList><Role><InstanceId>%s</InstanceId><Health>%s</Health></Role></RoleInstanceList></Container></Health>`, incarnation, container, instance, health)
}

func TestGoalState(t *testing.T) {
	ask := wire(t, nil)
	for target, want := range map[string]string{
		"/?comp=versions":          "<Preferred><Version>2012-11-30</Version></Preferred>",
		"/machine/?comp=goalstate": "<Container><ContainerId>" + containerOf(wired) + "</ContainerId><RoleInstanceList><RoleInstance><InstanceId>6f1b2c3d._w</InstanceId>",
		"/machine?comp=goalstate":  "<Incarnation>1</Incarnation>",
	} {
		if got := ask("GET", target, wireVersion, ""); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", target, got.Code, got.Body, want)
		}
	}
	for target, want := range map[string]int{"/machine?comp=telemetrydata": http.StatusNotFound, "/machine?comp=goalstate": http.StatusBadRequest} {
		version := map[int]string{http.StatusNotFound: wireVersion, http.StatusBadRequest: "2015-04-05"}[want]
		if got := ask("GET", target, version, ""); got.Code != want {
			t.Errorf("%s of version %s: %d, want %d", target, version, got.Code, want)
		}
	}
	stranger := httptest.NewRequest("GET", "/machine?comp=goalstate", nil)
	stranger.RemoteAddr = "10.0.0.9:40000"
	w := httptest.NewRecorder()
	wireHandler(func(string) (feed.Machine, feed.Subnet, bool) { return feed.Machine{}, feed.Subnet{}, false }, nil).ServeHTTP(w, stranger)
	if w.Code != http.StatusNotFound {
		t.Errorf("who is no machine gets %d %s", w.Code, w.Body)
	}
}

func TestHealthReports(t *testing.T) {
	container, instance := containerOf(wired), instanceOf(wired)
	ready := "<State>Ready</State>"
	for name, c := range map[string]struct {
		body string
		code int
		want guestReport
	}{
		"ready":                 {report("1", container, instance, ready), http.StatusOK, guestReport{VMID: wired.VMID, State: feed.ProvisioningSucceeded}},
		"failed":                {report("1", container, instance, "<State>NotReady</State><Details><SubStatus>ProvisioningFailed</SubStatus><Description>no keys</Description></Details>"), http.StatusOK, guestReport{VMID: wired.VMID, State: feed.ProvisioningFailed, Message: "no keys"}},
		"at work":               {report("1", container, instance, "<State>NotReady</State><Details><SubStatus>Provisioning</SubStatus><Description>Starting</Description></Details>"), http.StatusOK, guestReport{}},
		"of another goal state": {report("2", container, instance, ready), http.StatusBadRequest, guestReport{}},
		"of another place":      {report("1", "elsewhere", instance, ready), http.StatusBadRequest, guestReport{}},
		"of another machine":    {report("1", container, "other._v", ready), http.StatusBadRequest, guestReport{}},
		"of no known state":     {report("1", container, instance, "<State>Fine</State>"), http.StatusBadRequest, guestReport{}},
		"not XML":               {"ready", http.StatusBadRequest, guestReport{}},
		"too long":              {report("1", container, instance, ready+strings.Repeat(" ", largestReport)), http.StatusBadRequest, guestReport{}},
	} {
		var noted guestReport
		got := wire(t, func(m feed.Machine, g guestReport) error { noted = g; return nil })("POST", "/machine?comp=health", wireVersion, c.body)
		if got.Code != c.code || noted != c.want {
			t.Errorf("%s: %d %s, noted %+v, want %d and %+v", name, got.Code, got.Body, noted, c.code, c.want)
		}
	}
	refusing := wire(t, func(feed.Machine, guestReport) error { return os.ErrPermission })
	if got := refusing("POST", "/machine?comp=health", wireVersion, report("1", container, instance, ready)); got.Code != http.StatusInternalServerError {
		t.Errorf("a report that is not kept is acknowledged: %d", got.Code)
	}
}

// FuzzHealth: a guest may send anything.
func FuzzHealth(f *testing.F) {
	f.Add(report("1", containerOf(wired), instanceOf(wired), "<State>Ready</State>"))
	f.Add("<Health><Container/></Health>")
	f.Fuzz(func(t *testing.T, body string) {
		var h health
		if xml.Unmarshal([]byte(body), &h) != nil {
			return
		}
		if g, err := h.of(wired); err == nil && g.State != "" && !strings.Contains(body, wired.VMID) {
			t.Errorf("%q counts as %+v", body, g)
		}
	})
}

// What a guest has reported outlives the hypervisor, and goes with the machine.
func TestReportsOfGuestsAreKept(t *testing.T) {
	h, f := hostless(t)
	off := feed.Machine{ID: wired.ID, VMID: wired.VMID, Name: wired.Name}
	shows := func(h *hypervisor, state, message string) {
		t.Helper()
		if err := h.machines(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := f.guests[off.ID]; got.Provisioning != state || got.ProvisioningMessage != message {
			t.Errorf("reported %+v, want %s %q", got, state, message)
		}
	}
	h.snap.Machines = []feed.Machine{off}
	shows(h, feed.ProvisioningRunning, "")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(h.cfg.Dir, "w"), 0o700))
	must(h.note(off, guestReport{VMID: off.VMID, State: feed.ProvisioningFailed, Message: "no keys"}))
	shows(h, feed.ProvisioningFailed, "no keys")
	must(h.note(off, guestReport{VMID: off.VMID, State: feed.ProvisioningSucceeded}))
	must(h.note(off, guestReport{VMID: off.VMID, State: feed.ProvisioningFailed}))
	shows(h, feed.ProvisioningSucceeded, "")

	next, _ := hostless(t)
	next.cfg.Dir, next.cfg.Source, next.snap = h.cfg.Dir, f, h.snap
	shows(next, feed.ProvisioningSucceeded, "")
	next.snap.Machines[0].VMID = "made anew"
	shows(next, feed.ProvisioningRunning, "")
	if err := next.note(feed.Machine{ID: "/vm/gone"}, guestReport{State: feed.ProvisioningSucceeded}); err == nil {
		t.Error("the report of a machine that is not known is taken")
	}
}
