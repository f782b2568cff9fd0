package payload

import (
	"errors"

	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/payload"
)

// onlyKubernetes refuses to copy what has more than component images and machine images.
func onlyKubernetes(facts *payload.Facts) error {
	if release.KindOf(facts.Images) == release.KindKubernetes {
		return nil
	}
	return errors.New("this is a payload of OpenShift's, which has more than its component images: mirror it with oc adm release mirror")
}
