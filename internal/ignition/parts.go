package ignition

import (
	"encoding/base64"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	"k8s.io/utils/ptr"
)

// specVersion is the version of the Ignition specification that our configurations are written in: the oldest that machine images take.
const specVersion = "3.2.0"

const dataPrefix = "data:text/plain;charset=utf-8;base64,"

func file(path string, mode int, content string) types.File {
	var out types.File
	out.Path = path
	out.Overwrite = ptr.To(true)
	out.Mode = ptr.To(mode)
	out.Contents.Source = ptr.To(dataPrefix + base64.StdEncoding.EncodeToString([]byte(content)))
	return out
}

// unit is a systemd unit as ordered sections; only directives that every supported node system knows are used.
func unit(name string, lines ...string) types.Unit {
	return types.Unit{Name: name, Enabled: ptr.To(true), Contents: ptr.To(strings.Join(lines, "\n") + "\n")}
}
