// Package imds is the instance metadata service, of which a machine asks what it is.
package imds

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/feed"
)

// Lookup finds the machine that has an address in a network, and the subnet it is in.
type Lookup func(address string) (feed.Machine, feed.Subnet, bool)

// Handler is the service of a network; a machine is known by its source address.
func Handler(find Lookup) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "IMDS/150.870.65.1854")
		path := strings.TrimSuffix(strings.ToLower(r.URL.Path), "/")
		if !strings.EqualFold(r.Header.Get("Metadata"), "true") || r.Header.Get("X-Forwarded-For") != "" {
			refuse(w, http.StatusBadRequest, "Bad request. Required metadata header not specified or not correct")
			return
		}
		if path == "/metadata/versions" {
			write(w, map[string]any{"apiVersions": []string{"2019-03-11", "2020-06-01", "2021-02-01", "2021-12-13"}})
			return
		}
		if r.URL.Query().Get("api-version") == "" {
			refuse(w, http.StatusBadRequest, "Bad request. api-version was not specified in the request")
			return
		}
		source, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		m, subnet, ok := find(source)
		if !ok {
			refuse(w, http.StatusNotFound, "no virtual machine has the address "+source)
			return
		}
		switch {
		case path == "/metadata/instance" || strings.HasPrefix(path, "/metadata/instance/"):
			serveInstance(w, r, strings.TrimPrefix(path, "/metadata/instance"), instance(m, subnet))
		case path == "/metadata/scheduledevents":
			write(w, map[string]any{"DocumentIncarnation": 1, "Events": []any{}})
		case strings.HasPrefix(path, "/metadata/identity"):
			refuse(w, http.StatusBadRequest, "Identity not found")
		case strings.HasPrefix(path, "/metadata/loadbalancer"):
			refuse(w, http.StatusNotFound, "No load balancer metadata is found. Please check if your VM is using any non-basic SKU load balancer and retry later.")
		default:
			refuse(w, http.StatusNotFound, "Not found")
		}
	})
}

func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message})
}

func write(w http.ResponseWriter, doc any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(doc)
}

// instance is the document at /metadata/instance.
func instance(m feed.Machine, subnet feed.Subnet) map[string]any {
	pairs := make([]string, 0, len(m.Tags))
	list := make([]any, 0, len(m.Tags))
	for _, name := range slices.Sorted(maps.Keys(m.Tags)) {
		pairs = append(pairs, name+":"+m.Tags[name])
		list = append(list, map[string]any{"name": name, "value": m.Tags[name]})
	}
	faultDomain := "0"
	if n, err := strconv.Atoi(m.Zone); err == nil {
		faultDomain = strconv.Itoa(n % 3)
	}
	var interfaces []any
	address, bits := "", ""
	if p, err := netip.ParsePrefix(subnet.Prefix); err == nil {
		address, bits = p.Masked().Addr().String(), strconv.Itoa(p.Bits())
	}
	for _, nic := range m.NICs {
		interfaces = append(interfaces, map[string]any{
			"macAddress": strings.ToUpper(strings.NewReplacer(":", "", "-", "").Replace(nic.MAC)),
			"ipv4": map[string]any{
				"ipAddress": []any{map[string]any{"privateIpAddress": nic.PrivateIP, "publicIpAddress": ""}},
				"subnet":    []any{map[string]any{"address": address, "prefix": bits}},
			},
			"ipv6": map[string]any{"ipAddress": []any{}},
		})
	}
	return map[string]any{
		"compute": map[string]any{
			"azEnvironment": "AzurePublicCloud", "location": m.Location, "name": m.Name, "osType": "Linux", "platformFaultDomain": faultDomain,
			"platformUpdateDomain": faultDomain, "provider": "Microsoft.Compute", "resourceGroupName": m.ResourceGroup, "resourceId": m.ID,
			"subscriptionId": m.SubscriptionID, "tags": strings.Join(pairs, ";"), "tagsList": list, "vmId": m.VMID, "vmScaleSetName": "",
			"vmSize": m.Size, "zone": m.Zone, "osProfile": map[string]any{"computerName": m.ComputerName},
		},
		"network": map[string]any{"interface": interfaces},
	}
}

// serveInstance answers a part of the document: objects as JSON, leaves as text.
func serveInstance(w http.ResponseWriter, r *http.Request, path string, doc any) {
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if part == "" {
			continue
		}
		next, ok := child(doc, part)
		if !ok {
			refuse(w, http.StatusNotFound, "Not found")
			return
		}
		doc = next
	}
	text, leaf := doc.(string)
	if !leaf {
		write(w, doc)
		return
	}
	if r.URL.Query().Get("format") != "text" {
		refuse(w, http.StatusBadRequest, "Bad request. Requested format is not allowed. Allowed format for this resource: text.")
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, text)
}

func child(doc any, name string) (any, bool) {
	switch d := doc.(type) {
	case map[string]any:
		for k, v := range d {
			if strings.EqualFold(k, name) {
				return v, true
			}
		}
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(d) {
			return d[i], true
		}
	}
	return nil, false
}
