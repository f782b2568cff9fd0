package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// revisionAnnotation is the Deployment controller's, and changes with every rollout.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// Keeper is Apply that repairs drift: it remembers what each object looked like after it was applied, and applies again when
// somebody has changed it since. An object that is as it was left costs no write. The zero value is ready, and each process
// applies every object once, which changes nothing when nothing has changed (but see Trust). It is safe for concurrent use.
type Keeper struct {
	// Trust has an object that carries the hash of the desired state count as left alone when this process sees it first. Then a start
	// costs no writes, and what was changed while no process ran stays.
	Trust bool

	mu   sync.Mutex
	kept map[string]kept
}

// kept is the desired state's hash, the resource version before it was applied, which a cache may still show, and the fingerprint after.
type kept struct{ desired, before, after string }

// Apply brings every object to its desired state, and stops at the first that fails. A nil Keeper is the function Apply.
func (k *Keeper) Apply(ctx context.Context, c client.Client, fieldManager string, objs ...client.Object) error {
	if k == nil {
		return Apply(ctx, c, fieldManager, objs...)
	}
	for _, obj := range objs {
		if err := k.apply(ctx, c, fieldManager, obj); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keeper) apply(ctx context.Context, c client.Client, fieldManager string, obj client.Object) error {
	desired, hash, err := stamped(c.Scheme(), fieldManager, obj)
	if err != nil {
		return err
	}
	live, err := emptyLike(c.Scheme(), desired)
	if err != nil {
		return err
	}
	err = c.Get(ctx, client.ObjectKeyFromObject(desired), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s: %w", Describe(desired), err)
	}
	key := fmt.Sprintf("%s/%s/%s/%s", fieldManager, desired.GroupVersionKind(), desired.GetNamespace(), desired.GetName())
	// One that is being deleted is made anew when it is gone, which its watch tells.
	if found := err == nil; found && (live.GetDeletionTimestamp() != nil || k.isKept(key, hash, live)) {
		return nil
	} else if found && k.trusted(key, live.GetAnnotations()[DesiredHashPrefix+fieldManager] == hash) {
		k.keep(key, hash, "", live)
		return nil
	}
	if err := write(ctx, c, fieldManager, desired); err != nil {
		return err
	}
	k.keep(key, hash, live.GetResourceVersion(), desired)
	return nil
}

func (k *Keeper) isKept(key, hash string, live client.Object) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	have := k.kept[key]
	return have.desired == hash && (have.after == fingerprint(live) || have.before == live.GetResourceVersion())
}

// trusted tells whether an object that this process has not applied yet, and that has the desired state's hash, is taken as it is.
func (k *Keeper) trusted(key string, same bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, known := k.kept[key]
	return k.Trust && same && !known
}

// Forget drops what is remembered of the objects of a namespace that is gone.
func (k *Keeper) Forget(namespace string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.kept, func(key string, _ kept) bool { return strings.Contains(key, "/"+namespace+"/") })
}

func (k *Keeper) keep(key, hash, before string, applied client.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[string]kept{}
	}
	k.kept[key] = kept{hash, before, fingerprint(applied)}
}

// fingerprint changes with the specification and the metadata. The status of a workload changes its resource version all the time,
// so a kind that counts generations is known by those.
func fingerprint(obj client.Object) string {
	if obj.GetGeneration() == 0 {
		return string(obj.GetUID()) + "/" + obj.GetResourceVersion()
	}
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, revisionAnnotation)
	// Maps of strings and owner references always encode.
	raw, _ := json.Marshal([]any{obj.GetLabels(), annotations, obj.GetOwnerReferences()})
	sum := sha256.Sum256(raw)
	return string(obj.GetUID()) + "/" + strconv.FormatInt(obj.GetGeneration(), 10) + "/" + hex.EncodeToString(sum[:8])
}
