package azure

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
)

// Resource is any ARM resource as the wire has it.
type Resource struct {
	ID         string            `json:"id,omitempty"`
	Name       string            `json:"name,omitempty"`
	Type       string            `json:"type,omitempty"`
	Location   string            `json:"location,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	ETag       string            `json:"etag,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	SKU        map[string]any    `json:"sku,omitempty"`
	Zones      []string          `json:"zones,omitempty"`
	Properties map[string]any    `json:"properties,omitempty"`
}

// Property walks into the properties; a missing step gives "".
func (r *Resource) Property(path ...string) string {
	var at any = r.Properties
	for _, step := range path {
		m, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = m[step]
	}
	text, _ := at.(string)
	return text
}

// pollEvery bounds the pause between two looks at a long-running operation; Azure's Retry-After wins.
const pollEvery = 2 * time.Second

// Get reads a resource.
func (s *Session) Get(ctx context.Context, id, apiVersion string) (*Resource, error) {
	var out Resource
	err := s.call(ctx, http.MethodGet, id, apiVersion, &out)
	return &out, err
}

// Put creates or replaces a resource, waits until Azure has finished, and returns what stands there then.
func (s *Session) Put(ctx context.Context, id, apiVersion string, body Resource) (*Resource, error) {
	return s.put(ctx, id, apiVersion, body, true)
}

// PutAway is Put for who needs nothing of the result: it spares the read that follows a long-running operation.
func (s *Session) PutAway(ctx context.Context, id, apiVersion string, body Resource) error {
	_, err := s.put(ctx, id, apiVersion, body, false)
	return err
}

// Patch changes what the body names of a resource that is there, and leaves the rest. It is for resources that Azure changes at once.
func (s *Session) Patch(ctx context.Context, id, apiVersion string, body Resource) error {
	resp, err := s.do(ctx, http.MethodPatch, id, apiVersion, body, http.StatusOK)
	if err != nil {
		return failure.Wrap("change", id, err)
	}
	return failure.Wrap("change", id, resp.Body.Close())
}

func (s *Session) put(ctx context.Context, id, apiVersion string, body Resource, result bool) (*Resource, error) {
	body.ID, body.Name, body.Type, body.ETag = "", "", "", ""
	resp, err := s.do(ctx, http.MethodPut, id, apiVersion, body, http.StatusOK, http.StatusCreated, http.StatusAccepted)
	if err != nil {
		return nil, failure.Wrap("create", id, err)
	}
	out := &Resource{}
	if finished(resp) {
		return out, failure.Wrap("create", id, runtime.UnmarshalAsJSON(resp, out))
	}
	options := &runtime.NewPollerOptions[Resource]{}
	if !result && resp.Header.Get(asyncOperation) != "" {
		// After the operation of a PUT the SDK reads the resource, after that of a POST it takes the operation's word.
		resp.Request = resp.Request.Clone(ctx)
		resp.Request.Method = http.MethodPost
		options.FinalStateVia = runtime.FinalStateViaAzureAsyncOp
	}
	poller, err := runtime.NewPoller(resp, s.arm.Pipeline(), options)
	if err != nil {
		return nil, failure.Wrap("create", id, err)
	}
	*out, err = poller.PollUntilDone(ctx, &runtime.PollUntilDoneOptions{Frequency: pollEvery})
	return out, failure.Wrap("create", id, err)
}

// asyncOperation is the header that names a long-running operation.
const asyncOperation = "Azure-AsyncOperation"

// finished tells that the answer to a PUT is the resource as it stays. The SDK's pollers would read what has no provisioning state,
// such as an identity or a role assignment, once more.
func finished(resp *http.Response) bool {
	if resp.StatusCode == http.StatusAccepted || resp.Header.Get(asyncOperation) != "" {
		return false
	}
	var made Resource
	raw, err := runtime.Payload(resp)
	if err != nil || json.Unmarshal(raw, &made) != nil {
		return false
	}
	state := made.Property("provisioningState")
	return state == "" || state == "Succeeded"
}

// Delete removes a resource, waits until it is gone, and takes an absent one as success.
func (s *Session) Delete(ctx context.Context, id, apiVersion string) error {
	resp, err := s.do(ctx, http.MethodDelete, id, apiVersion, nil, http.StatusOK, http.StatusAccepted, http.StatusNoContent)
	if err == nil {
		var poller *runtime.Poller[struct{}]
		if poller, err = runtime.NewPoller[struct{}](resp, s.arm.Pipeline(), nil); err == nil {
			_, err = poller.PollUntilDone(ctx, &runtime.PollUntilDoneOptions{Frequency: pollEvery})
		}
	}
	if err = failure.Wrap("delete", id, err); failure.IsNotFound(err) {
		return nil
	}
	return err
}

// List reads all pages of a collection. The filter may be empty.
func (s *Session) List(ctx context.Context, path, apiVersion, filter string) ([]Resource, error) {
	return list[Resource](ctx, s, path, apiVersion, filter)
}

func list[T any](ctx context.Context, s *Session, path, apiVersion, filter string) ([]T, error) {
	var all []T
	next := path
	for next != "" {
		var page struct {
			Value    []T    `json:"value"`
			NextLink string `json:"nextLink"`
		}
		query := url.Values{}
		if filter != "" {
			query.Set("$filter", filter)
		}
		if err := s.callQuery(ctx, http.MethodGet, next, apiVersion, query, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Value...)
		var err error
		if next, err = s.nextPage(path, page.NextLink); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// nextPage checks where a list goes on, for the token goes there: at the resource manager, or at the one of a region, which is a host beneath
// its name.
func (s *Session) nextPage(list, link string) (string, error) {
	if link == "" {
		return "", nil
	}
	endpoint, err := url.Parse(s.arm.Endpoint())
	if err != nil {
		return "", failure.Wrap("read", list, err)
	}
	next, err := url.Parse(link)
	if err != nil || next.Scheme != endpoint.Scheme || !isManager(next.Host, endpoint.Host) || next.User != nil {
		return "", &failure.Error{Op: "read", Resource: list, Kind: failure.Terminal, Cause: fmt.Sprintf("the list goes on at %q, which is no host of the resource manager %s", link, endpoint.Host),
			Remedy: "check HTTPS_PROXY: what answers there is not Azure"}
	}
	return link, nil
}

// isManager tells whether a host is the resource manager, or that of a region, such as eastus.management.azure.com.
func isManager(host, manager string) bool {
	return strings.EqualFold(host, manager) || strings.HasSuffix(strings.ToLower(host), "."+strings.ToLower(manager))
}

func (s *Session) call(ctx context.Context, method, id, apiVersion string, out any) error {
	return s.callQuery(ctx, method, id, apiVersion, url.Values{}, nil, out)
}

func (s *Session) callQuery(ctx context.Context, method, path, apiVersion string, query url.Values, body, out any) error {
	op := map[string]string{http.MethodGet: "read", http.MethodPost: "call"}[method]
	resp, err := s.send(ctx, method, path, apiVersion, query, body, http.StatusOK)
	if err != nil {
		return failure.Wrap(op, path, err)
	}
	return failure.Wrap(op, path, runtime.UnmarshalAsJSON(resp, out))
}

func (s *Session) do(ctx context.Context, method, path, apiVersion string, body any, accept ...int) (*http.Response, error) {
	return s.send(ctx, method, path, apiVersion, url.Values{}, body, accept...)
}

func (s *Session) send(ctx context.Context, method, path, apiVersion string, query url.Values, body any, accept ...int) (*http.Response, error) {
	if method != http.MethodGet && method != http.MethodPost && !isPlainPath(path) {
		return nil, fmt.Errorf("%q is not the id of a resource: nothing is written or deleted there", path)
	}
	base, rawQuery, _ := strings.Cut(path, "?")
	if !strings.HasPrefix(base, "https://") { // as the next page of a list is, see nextPage
		base = runtime.JoinPaths(s.arm.Endpoint(), base)
	}
	req, err := runtime.NewRequest(ctx, method, base)
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query of %s: %w", path, err)
	}
	if rawQuery == "" {
		values = query
		values.Set("api-version", apiVersion)
	}
	req.Raw().URL.RawQuery = values.Encode()
	req.Raw().Header.Set("Accept", "application/json")
	if body != nil {
		if err := runtime.MarshalAsJSON(req, body); err != nil {
			return nil, err
		}
	}
	resp, err := s.arm.Pipeline().Do(req)
	if err != nil {
		return nil, err
	}
	if !runtime.HasStatusCode(resp, accept...) {
		return nil, runtime.NewResponseError(resp)
	}
	return resp, nil
}

// isPlainPath tells whether the path leads where it reads. An id that somebody else has recorded may have a query, a fragment, an escape or
// a step upwards in it, and what follows would not count.
func isPlainPath(path string) bool {
	return !strings.ContainsAny(path, "?#%\\") && !strings.Contains(path+"/", "/../") && !strings.Contains(path, "//")
}

// ID is a parsed ARM resource id.
type ID struct {
	SubscriptionID, ResourceGroup, Type, Name string
	Parent                                    string
}

// ParseID reads an ARM resource id; the error names the text.
func ParseID(text string) (ID, error) {
	parsed, err := arm.ParseResourceID(text)
	if err != nil || parsed.SubscriptionID == "" || parsed.ResourceGroupName == "" {
		return ID{}, fmt.Errorf("%q is not an ARM resource id (/subscriptions/…/resourceGroups/…/providers/…)", text)
	}
	id := ID{SubscriptionID: parsed.SubscriptionID, ResourceGroup: parsed.ResourceGroupName,
		Type: parsed.ResourceType.String(), Name: parsed.Name}
	if parsed.Parent != nil {
		id.Parent = parsed.Parent.String()
	}
	return id, nil
}

// ParseIDOf reads the ARM id of a resource of the type, such as Microsoft.Network/virtualNetworks; Azure compares types without regard to
// case. The error names the text and what is wanted.
func ParseIDOf(text, kind string) (ID, error) {
	id, err := ParseID(text)
	if err == nil && strings.EqualFold(id.Type, kind) && id.Name != "" {
		return id, nil
	}
	namespace, types, _ := strings.Cut(kind, "/")
	return ID{}, fmt.Errorf("%q is not the ARM id of a resource of type %s: want /subscriptions/…/resourceGroups/…/providers/%s/%s/NAME",
		text, kind, namespace, strings.ReplaceAll(types, "/", "/NAME/"))
}

// GroupID is the ARM id of a resource group of the session's subscription.
func (s *Session) GroupID(group string) string {
	return "/subscriptions/" + s.SubscriptionID + "/resourceGroups/" + group
}

// ResourceID is the ARM id of a resource; typed as Microsoft.Network/virtualNetworks.
func (s *Session) ResourceID(group, typed, name string) string {
	return s.GroupID(group) + "/providers/" + typed + "/" + name
}
