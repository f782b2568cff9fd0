package azure

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	uuidA = "11111111-1111-1111-1111-111111111111"
	uuidB = "22222222-2222-2222-2222-222222222222"
	uuidC = "33333333-3333-3333-3333-333333333333"
)

func TestParseCredentials(t *testing.T) {
	want := Credentials{SubscriptionID: uuidA, TenantID: uuidB, ClientID: uuidC, ClientSecret: "s"}
	for name, text := range map[string]string{
		"documented": `{"subscriptionId":"` + uuidA + `","tenantId":"` + uuidB + `","clientId":"` + uuidC + `","clientSecret":"s"}`,
		"other case": `{"subscriptionID":"` + uuidA + `","TenantId":"` + uuidB + `","clientID":"` + uuidC + `","ClientSecret":"s","extra":1}`,
		"yaml":       "subscription_id: " + uuidA + "\ntenant: " + uuidB + "\nappId: " + uuidC + "\npassword: s\n",
	} {
		if got, err := ParseCredentials([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	person := Credentials{SubscriptionID: uuidA, TenantID: uuidB}
	if got, err := ParseCredentials([]byte(`{"subscriptionId":"` + uuidA + `","tenantId":"` + uuidB + `"}`)); err != nil || got != person {
		t.Errorf("a person who is signed in with the Azure CLI: %v, %v", got, err)
	}
	for field, text := range map[string]string{
		"tenantId":  `{"subscriptionId":"` + uuidA + `","clientId":"` + uuidC + `"}`,
		"clientId ": `{"subscriptionId":"` + uuidA + `","tenantId":"` + uuidB + `","clientSecret":"s"}`,
		"clientId":  `{"subscriptionId":"` + uuidA + `","tenantId":"` + uuidB + `","clientId":"me"}`,
	} {
		if _, err := ParseCredentials([]byte(text)); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}

func FuzzParseCredentials(f *testing.F) {
	f.Add([]byte(`{"subscriptionId":"` + uuidA + `"}`))
	f.Add([]byte("a: [b"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if c, err := ParseCredentials(raw); err == nil && !(IsUUID(c.SubscriptionID) && IsUUID(c.TenantID) && (IsUUID(c.ClientID) || c.ClientID == "" && c.ClientSecret == "")) {
			t.Fatalf("accepted %+v", c)
		}
	})
}

func TestAssignmentNameVector(t *testing.T) {
	got := AssignmentName("test-infra", "ingress", "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/rg1")
	if got != "f873c03b-79f0-525d-b554-a64025288cc8" {
		t.Fatal(got)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("/subscriptions/" + uuidA + "/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s")
	f.Add("//subscriptions")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseID(text); err == nil && (id.SubscriptionID == "" || id.ResourceGroup == "") {
			t.Fatalf("%q gave %+v", text, id)
		}
	})
}

func TestNobodyCallsBeforeRetryAfter(t *testing.T) {
	var mu sync.Mutex
	var refused time.Time
	early, calls := 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if calls == 1 {
			refused = time.Now()
			w.Header().Set("Retry-After-Ms", "200")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if time.Since(refused) < 200*time.Millisecond {
			early++
		}
	}))
	defer server.Close()
	address, _ := url.Parse(server.URL)
	g := gated{client: server.Client(), manager: address.Host, throttle: &throttle{slots: make(chan struct{}, 2)}}
	call := func() {
		req, _ := http.NewRequest(http.MethodGet, server.URL, nil)
		if resp, err := g.Do(req); err == nil {
			resp.Body.Close()
		}
	}
	call()
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(call)
	}
	wg.Wait()
	if early != 0 || calls != 6 {
		t.Errorf("%d calls, %d of them too early", calls, early)
	}
}

func TestWaitingAtTheGateEndsWithTheContext(t *testing.T) {
	th := &throttle{slots: make(chan struct{}, 1)}
	th.pause(time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := th.enter(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(th.slots) != 0 {
		t.Error("the slot was not given back")
	}
}

func TestRetryAfterReadsWhatTheSDKReads(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	for _, tc := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second}, {"Retry-After-Ms", "50", 50 * time.Millisecond}, {"x-ms-retry-after-ms", "70", 70 * time.Millisecond},
		{"Retry-After", now.Add(time.Minute).UTC().Format(http.TimeFormat), time.Minute}, {"Retry-After", "soon", 0}, {"Retry-After", "-1", 0},
	} {
		h := http.Header{}
		h.Set(tc.name, tc.value)
		if got := retryAfter(h, now); got != tc.want {
			t.Errorf("%s: %s gave %s", tc.name, tc.value, got)
		}
	}
}
