package provision

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/pki/signing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
	"github.com/hypershift-on-azure/hypershift/internal/wholefile"
)

// RotateOptions describe a change of the signing key.
type RotateOptions struct {
	Issuer        issuer.Options
	TokenLifetime time.Duration // the longest life of a token that the old key has signed
	KeyWait       time.Duration // how long Azure may take to accept tokens of the new key; 0 does not try one
	NoWait        bool          // stop before the wait and say when to go on
	Finish        bool          // only end a rotation that is under way
	// UpdateCluster gives the hosted cluster its new private key and, unless nil, the old public key. Nil leaves that to the user,
	// who says with Updated that it is done.
	UpdateCluster func(ctx context.Context, private, oldPublic []byte) error
	Updated       bool
	Say           func(format string, args ...any)
	// Now and Sleep are real time when nil.
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// Rotation says where a rotation stands.
type Rotation struct {
	Phase    string    `json:"phase"`  // published, switched, retired
	KeyID    string    `json:"keyID"`  // of the key that signs, or will
	KeyIDs   []string  `json:"keyIDs"` // of those that are published
	FinishAt time.Time `json:"finishAt,omitzero"`
}

// The phases a rotation stops in.
const (
	RotationPublished = "published" // both keys are published; the hosted cluster still signs with the old one
	RotationSwitched  = "switched"  // the hosted cluster signs with the new key; tokens of the old one are still about
	RotationRetired   = "retired"   // only the new key is published
)

// rotation keeps its state in the files beside the key, and in the published keys: at every point a later run goes on from there.
//
//	next.private               made, perhaps not yet published
//	old.public                 the new pair has taken the old one's place
//	rotation                   when the hosted cluster was given the new key
type rotation struct {
	RotateOptions
	s                                      *azure.Session
	issuer                                 issuer.Issuer
	nextPrivate, nextPublic, oldPublic, at string
}

// RotateIssuer changes the signing key without a moment in which a token is refused: publish both keys, wait until Azure takes a token of
// the new one, switch, wait until no token of the old key is left, retire it.
func RotateIssuer(ctx context.Context, s *azure.Session, o RotateOptions) (*Rotation, error) {
	r, err := newRotation(s, o)
	if err != nil {
		return nil, err
	}
	release, err := lockFolder(o.Issuer.KeyDirectory)
	if err != nil {
		return nil, err
	}
	defer release()
	return r.run(ctx)
}

// lockFolder keeps another rotation off the keys until release is called or the process ends: the files are what both go by.
func lockFolder(folder string) (release func(), err error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, field.Errorf(issuer.FieldKeyDirectory, "cannot open the folder of the keys: %w; rotate needs the present key in %s", err, issuer.FieldKeyDirectory)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another command is changing the keys in %s; run this one when that has ended, or end that one", folder)
	} else if err != nil {
		err = fmt.Errorf("cannot lock the folder of the keys %s: %w", folder, err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}

func newRotation(s *azure.Session, o RotateOptions) (*rotation, error) {
	if err := o.Issuer.Validate(); err != nil {
		return nil, err
	}
	if o.Issuer.PrivateKey != "" {
		return nil, field.Errorf(issuer.FieldKeyDirectory, "rotate works on the pair in %s; put your key there as "+signing.PrivateFile+" and "+signing.PublicFile, issuer.FieldKeyDirectory)
	}
	if o.TokenLifetime <= 0 {
		return nil, FieldTokenLifetime.Wrong("must be positive: the longest life of a token of the hosted cluster")
	}
	if o.KeyWait < 0 {
		return nil, FieldKeyWait.Wrong("cannot be negative; 0 does not try a token of the new key")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = stack.Sleep
	}
	file := func(name string) string { return issuer.RotationFile(o.Issuer.KeyDirectory, name) }
	r := &rotation{RotateOptions: o, s: s, issuer: o.Issuer.Resolve(s),
		nextPrivate: file("next.private"), nextPublic: file(issuer.NextPublic), oldPublic: file(issuer.OldPublic), at: file("rotation")}
	if o.Finish && !r.published() && !wholefile.Exists(r.nextPrivate) {
		return nil, errors.New("there is no rotation to finish in " + o.Issuer.KeyDirectory)
	}
	return r, nil
}

// published tells whether the new pair has been published and has taken the old one's place.
func (r *rotation) published() bool {
	return wholefile.Exists(r.oldPublic) && !wholefile.Exists(r.nextPrivate)
}

func (r *rotation) run(ctx context.Context) (*Rotation, error) {
	if !r.published() {
		if err := r.publish(ctx); err != nil {
			return nil, err
		}
		if err := r.takePlace(); err != nil {
			return nil, err
		}
	}
	if err := r.repairPublic(); err != nil {
		return nil, err
	}
	if !wholefile.Exists(r.at) {
		if err := r.tryKey(ctx); err != nil {
			return nil, err
		}
	}
	since, given, err := r.switchCluster(ctx)
	if err != nil || !given {
		return r.report(RotationPublished, time.Time{}, err)
	}
	finishAt := since.Add(r.TokenLifetime)
	if left := finishAt.Sub(r.Now()); left > 0 {
		if r.NoWait || r.Finish {
			r.Say("tokens of the old key may live until %s; then run the same command with %s", finishAt.Format(time.RFC3339), FieldFinish)
			return r.report(RotationSwitched, finishAt, nil)
		}
		r.Say("waiting until %s for the tokens of the old key to end; this may be interrupted and continued with %s", finishAt.Format(time.RFC3339), FieldFinish)
		if err := r.Sleep(ctx, left); err != nil {
			return nil, err
		}
	}
	return r.report(RotationRetired, time.Time{}, r.retire(ctx))
}

func (r *rotation) report(phase string, finishAt time.Time, err error) (*Rotation, error) {
	if err != nil {
		return nil, err
	}
	id, err := r.issuer.KeyID()
	if err != nil || phase == RotationRetired {
		return &Rotation{Phase: phase, KeyID: id, KeyIDs: []string{id}, FinishAt: finishAt}, err
	}
	key, err := signing.ReadPublic(r.oldPublic)
	if err != nil {
		return nil, err
	}
	old, err := signing.KeyID(key)
	return &Rotation{Phase: phase, KeyID: id, KeyIDs: []string{old, id}, FinishAt: finishAt}, err
}

// needsPresentKey adds where the key is looked for.
func needsPresentKey(err error) error {
	return field.Errorf(issuer.FieldKeyDirectory, "%w; rotate needs the present key in %s", err, issuer.FieldKeyDirectory)
}

// publish makes the next pair and has it published beside the present one.
func (r *rotation) publish(ctx context.Context) error {
	current, err := signing.ReadPrivate(r.issuer.PrivateKeyPath)
	if err != nil {
		return needsPresentKey(err)
	}
	next, err := signing.EnsurePair(r.nextPrivate, r.nextPublic)
	if err != nil {
		return err
	}
	r.Say("publishing both keys at %s", r.issuer.URL)
	return r.change(ctx, func(set *signing.KeySet) (*signing.KeySet, error) {
		// After a stop between the two renames the present key is the next one already, and both are published.
		if !set.Has(&current.PublicKey) {
			return nil, fmt.Errorf("%s does not publish the key of %s; it is not this issuer's key", r.issuer.URL, r.issuer.PrivateKeyPath)
		}
		return set.With(&next.PublicKey)
	})
}

// change replaces the published keys, unless they are as wanted, and reads them back as Entra will.
func (r *rotation) change(ctx context.Context, edit func(*signing.KeySet) (*signing.KeySet, error)) error {
	set, err := r.publishedKeys(ctx)
	if err != nil {
		return err
	}
	wanted, err := edit(set)
	if err != nil || len(wanted.IDs()) == len(set.IDs()) {
		return err
	}
	raw, err := wanted.Encode()
	if err != nil {
		return err
	}
	if err := r.s.UploadBlob(ctx, r.issuer.StorageAccount, r.issuer.Container, issuer.KeysPath, "application/json", raw); err != nil {
		return err
	}
	after, err := r.publishedKeys(ctx)
	if err == nil && len(after.IDs()) != len(wanted.IDs()) {
		err = fmt.Errorf("%s/%s does not show the new keys yet; run the command again", r.issuer.URL, issuer.KeysPath)
	}
	return err
}

func (r *rotation) publishedKeys(ctx context.Context) (*signing.KeySet, error) {
	set, err := issuer.PublishedKeys(ctx, r.s, r.issuer.URL)
	if errors.Is(err, issuer.ErrNoKeySet) {
		err = fmt.Errorf("%w; make the issuer with `hypershift create oidc-issuer azure` first", err)
	}
	return set, err
}

// takePlace lets the next pair take the present one's place; the old public key stays. Every order of stops in between is continued.
func (r *rotation) takePlace() error {
	current, err := signing.ReadPrivate(r.issuer.PrivateKeyPath)
	if err != nil {
		return err
	}
	if err := signing.WritePublic(r.oldPublic, &current.PublicKey); err != nil {
		return err
	}
	if err := os.Rename(r.nextPrivate, r.issuer.PrivateKeyPath); err != nil {
		return fmt.Errorf("cannot put the new key in its place: %w", err)
	}
	return nil
}

// repairPublic makes the public file that of the private one.
func (r *rotation) repairPublic() error {
	current, err := signing.ReadPrivate(r.issuer.PrivateKeyPath)
	if err != nil {
		return err
	}
	if err := signing.WritePublic(r.issuer.PublicKeyPath, &current.PublicKey); err != nil {
		return err
	}
	return removeFile(r.nextPublic)
}

// switchCluster gives the hosted cluster its new key once, and tells since when it has it.
func (r *rotation) switchCluster(ctx context.Context) (since time.Time, given bool, err error) {
	raw, err := os.ReadFile(r.at)
	if err == nil {
		since, err = time.Parse(time.RFC3339, strings.TrimSpace(string(raw)))
		if err != nil {
			return since, false, fmt.Errorf("%s holds no time: %w; remove it to have the wait begin again", r.at, err)
		}
		return since, true, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return since, false, fmt.Errorf("cannot read when the key was switched: %w", err)
	}
	switch {
	case r.UpdateCluster != nil:
		if err := r.give(ctx, true); err != nil {
			return since, false, err
		}
	case !r.Updated:
		r.Say("both keys are published. Put %s into key \"key\" of the hosted cluster's signing key Secret and %s into its key \"old-key.pub\", "+
			"wait until the API server has rolled out, then run the same command with %s", r.issuer.PrivateKeyPath, r.oldPublic, FieldUpdated)
		return since, false, nil
	}
	since = r.Now().UTC().Truncate(time.Second).Add(time.Second)
	return since, true, wholefile.Replace(r.at, []byte(since.Format(time.RFC3339)+"\n"), 0o644)
}

func (r *rotation) give(ctx context.Context, withOld bool) error {
	private, err := os.ReadFile(r.issuer.PrivateKeyPath)
	if err != nil {
		return fmt.Errorf("cannot read the signing key: %w", err)
	}
	var old []byte
	if withOld {
		if old, err = os.ReadFile(r.oldPublic); err != nil {
			return fmt.Errorf("cannot read the old public key: %w", err)
		}
	}
	return r.UpdateCluster(ctx, private, old)
}

// retire removes the old key everywhere; the file that says there is a rotation goes last.
func (r *rotation) retire(ctx context.Context) error {
	old, err := signing.ReadPublic(r.oldPublic)
	if err != nil {
		return err
	}
	if err := r.refuseOwn(old); err != nil {
		return err
	}
	r.Say("retiring the old key")
	if err := r.change(ctx, func(set *signing.KeySet) (*signing.KeySet, error) { return set.Without(old), nil }); err != nil {
		return err
	}
	if r.UpdateCluster != nil {
		if err := r.give(ctx, false); err != nil {
			return err
		}
	}
	return errors.Join(removeFile(r.at), removeFile(r.oldPublic))
}

// refuseOwn keeps the key that signs from being retired.
func (r *rotation) refuseOwn(old *rsa.PublicKey) error {
	current, err := signing.ReadPrivate(r.issuer.PrivateKeyPath)
	if err == nil && current.PublicKey.Equal(old) {
		err = fmt.Errorf("%s is the key that signs; put the new private key back in its place", r.oldPublic)
	}
	return err
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot remove %s: %w", path, err)
	}
	return nil
}
