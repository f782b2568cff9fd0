package machine

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
	"github.com/hypershift-on-azure/hypershift/sandbox/machine/imds"
)

const (
	wireVersion     = "2012-11-30" // of the protocol, and the only one
	incarnation     = "1"          // of the goal state, which never changes here
	largestReport   = 1 << 16
	reportReady     = "Ready"
	reportNotReady  = "NotReady"
	provisionFailed = "ProvisioningFailed"
)

// noteHealth keeps what a machine's agent says of its provisioning.
type noteHealth func(m feed.Machine, g guestReport) error

// wireHandler is the wire server of a VNet at 168.63.129.16: the agent of an operating system asks it for the goal state, and tells it
// that the machine is provisioned (https://learn.microsoft.com/azure/virtual-machines/linux/no-agent). The machine is known by its address.
func wireHandler(find imds.Lookup, note noteHealth) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		source, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		m, _, ok := find(source)
		if !ok {
			http.Error(w, "no virtual machine has the address "+source, http.StatusNotFound)
			return
		}
		what := r.Method + " " + strings.Trim(r.URL.Path, "/") + "?" + r.URL.Query().Get("comp")
		if what == "GET ?versions" {
			writeXML(w, versions)
			return
		}
		if r.Header.Get("X-Ms-Version") != wireVersion {
			http.Error(w, "the header x-ms-version must be "+wireVersion, http.StatusBadRequest)
			return
		}
		switch what {
		case "GET machine?goalstate":
			writeXML(w, goalStateOf(m))
		case "POST machine?health":
			takeHealth(w, r, m, note)
		default:
			http.NotFound(w, r)
		}
	})
}

func writeXML(w http.ResponseWriter, doc any) {
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	_, _ = io.WriteString(w, xml.Header)
	_ = xml.NewEncoder(w).Encode(doc)
}

var versions = struct {
	XMLName   xml.Name `xml:"Versions"`
	Preferred string   `xml:"Preferred>Version"`
	Supported []string `xml:"Supported>Version"`
}{Preferred: wireVersion, Supported: []string{wireVersion}}

// goalState is what Azure wants of a machine; of its parts only those that name the machine are here, and the state that it shall have.
type goalState struct {
	XMLName     xml.Name `xml:"GoalState"`
	Version     string   `xml:"Version"`
	Incarnation string   `xml:"Incarnation"`
	State       string   `xml:"Machine>ExpectedState"`
	Container   string   `xml:"Container>ContainerId"`
	Instance    string   `xml:"Container>RoleInstanceList>RoleInstance>InstanceId"`
	Started     string   `xml:"Container>RoleInstanceList>RoleInstance>State"`
}

func goalStateOf(m feed.Machine) goalState {
	return goalState{Version: wireVersion, Incarnation: incarnation, State: "Started", Started: "Started", Container: containerOf(m), Instance: instanceOf(m)}
}

// containerOf is the id of the place in which the machine runs.
func containerOf(m feed.Machine) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("container "+m.VMID)).String()
}

func instanceOf(m feed.Machine) string { return m.VMID + "._" + m.Name }

// health is what an agent posts.
type health struct {
	Incarnation string `xml:"GoalStateIncarnation"`
	Container   string `xml:"Container>ContainerId"`
	Roles       []struct {
		Instance    string `xml:"InstanceId"`
		State       string `xml:"Health>State"`
		Status      string `xml:"Health>Details>SubStatus"`
		Description string `xml:"Health>Details>Description"`
	} `xml:"Container>RoleInstanceList>Role"`
}

func takeHealth(w http.ResponseWriter, r *http.Request, m feed.Machine, note noteHealth) {
	var h health
	if err := xml.NewDecoder(http.MaxBytesReader(w, r.Body, largestReport)).Decode(&h); err != nil {
		http.Error(w, "the report of health: "+err.Error(), http.StatusBadRequest)
		return
	}
	g, err := h.of(m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if g.State == "" {
		return
	}
	if err := note(m, g); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// of is what a report says of a machine. Its state is "" where the report leaves it open: the guest is still at work.
func (h health) of(m feed.Machine) (guestReport, error) {
	if h.Incarnation != incarnation || h.Container != containerOf(m) {
		return guestReport{}, fmt.Errorf("the report is of incarnation %q and container %q, which the goal state does not name", h.Incarnation, h.Container)
	}
	for _, role := range h.Roles {
		switch {
		case role.Instance != instanceOf(m):
		case role.State == reportReady:
			return guestReport{VMID: m.VMID, State: feed.ProvisioningSucceeded}, nil
		case role.State == reportNotReady && role.Status == provisionFailed:
			return guestReport{VMID: m.VMID, State: feed.ProvisioningFailed, Message: role.Description}, nil
		case role.State == reportNotReady:
			return guestReport{}, nil
		default:
			return guestReport{}, fmt.Errorf("the state of health %q is neither %s nor %s", role.State, reportReady, reportNotReady)
		}
	}
	return guestReport{}, errors.New("the report names no instance of the goal state")
}
