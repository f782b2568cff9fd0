package hollow

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// instance is what the metadata service says of a machine. On a real node the cloud node manager asks it.
type instance struct {
	ResourceID    string `json:"resourceId"`
	ResourceGroup string `json:"resourceGroupName"`
	Location      string `json:"location"`
	Zone          string `json:"zone"`
	Size          string `json:"vmSize"`
}

func (m *Machine) instance(ctx context.Context) (*instance, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	ask := url.URL{Scheme: "http", Host: m.MetadataService, Path: "/metadata/instance/compute", RawQuery: "api-version=2021-12-13&format=json"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ask.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Metadata", "true")
	response, err := (&http.Client{Transport: &http.Transport{DialContext: m.Dial, DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the metadata service answers %s", response.Status)
	}
	out := &instance{}
	return out, json.NewDecoder(response.Body).Decode(out)
}

// providerID is how Cluster API and the cloud provider call the machine: with the resource group in lower case.
func (i *instance) providerID() string {
	return "azure://" + strings.Replace(i.ResourceID, "/resourceGroups/"+i.ResourceGroup+"/", "/resourceGroups/"+strings.ToLower(i.ResourceGroup)+"/", 1)
}

// zone is the failure domain as the cloud provider writes it: of a machine in no zone, its fault domain.
func (i *instance) zone() string {
	if i.Zone == "" {
		return "0"
	}
	return i.Location + "-" + i.Zone
}
