package sandbox

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// TestFaults goes through the door to an admin socket.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	if _, err := ListFaults(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "no sandbox is up in "+dir) {
		t.Errorf("without a sandbox: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "azure"), 0o700); err != nil {
		t.Fatal(err)
	}
	injector, err := fault.Open(filepath.Join(dir, "faults.json"), func(string) bool { return false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "azure", "admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	injector.Register(mux)
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })

	added, err := AddFaults(t.Context(), dir, Fault{Preset: "throttled"}, Fault{Preset: "reset", ID: "mine"})
	if err != nil || len(added) != 2 || added[0].Status != 429 {
		t.Fatalf("%+v %v", added, err)
	}
	if err := ClearFaults(t.Context(), dir, added[0].ID); err != nil {
		t.Error(err)
	}
	if list, err := ListFaults(t.Context(), dir); err != nil || len(list) != 1 || list[0].ID != "mine" {
		t.Errorf("%+v %v", list, err)
	}
	if err := ClearFaults(t.Context(), dir, "nobody"); err == nil || !strings.Contains(err.Error(), "no fault with this id") {
		t.Errorf("clearing what is not there: %v", err)
	}
	if len(FaultPresets()) == 0 {
		t.Error("no presets")
	}
}
