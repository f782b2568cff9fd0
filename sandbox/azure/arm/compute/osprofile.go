package compute

import (
	"encoding/base64"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/wire"
)

// maxCustomData is the longest custom or user data, encoded: 65535 bytes before.
const maxCustomData = 87380

// notInHostNames are the characters that the name of a Linux host has not.
const notInHostNames = "` ~ ! @ # $ % ^ & * ( ) = + _ [ ] { } \\ | ; : ' \" , < > / ?"

const maxHostName = 64

// disallowedUsers are the names that no administrator has: https://learn.microsoft.com/azure/virtual-machines/linux/faq#what-are-the-username-requirements-when-creating-a-vm-
var disallowedUsers = []string{"administrator", "admin", "user", "user1", "test", "user2", "test1", "user3", "admin1", "1", "123", "a", "actuser", "adm", "admin2", "aspnet", "backup", "console", "david",
	"guest", "john", "owner", "root", "server", "sql", "support", "support_388945a0", "sys", "test2", "test3", "user4", "user5", "video"}

// profile checks who may log in to a machine that is made of an image.
func (m *machineCheck) profile() error {
	if !m.fromImage() {
		return nil
	}
	os, given := m.props["osProfile"].(wire.Doc)
	user := wire.Text(os, "adminUsername")
	switch {
	case !given:
		return missing("osProfile")
	case user == "":
		return missing("adminUsername")
	case slices.Contains(disallowedUsers, strings.ToLower(user)):
		return invalid("adminUsername", "The Admin Username specified is not allowed. For more information about disallowed usernames, see https://aka.ms/vmosprofile")
	case wire.Text(os, "computerName") == "":
		return missing("computerName")
	case len(wire.Text(os, "computerName")) > maxHostName || strings.ContainsAny(wire.Text(os, "computerName"), notInHostNames):
		return invalid("computerName", "Linux host name cannot exceed %d characters in length or contain the following characters: %s.", maxHostName, notInHostNames)
	}
	return m.logins(os, user)
}

// logins wants a password or a key.
func (m *machineCheck) logins(os wire.Doc, user string) error {
	linux := wire.Sub(os, "linuxConfiguration")
	keys := wire.Docs(wire.Sub(linux, "ssh"), "publicKeys")
	byPassword := linux["disablePasswordAuthentication"] != true
	switch {
	case byPassword && wire.Text(os, "adminPassword") == "" && len(keys) == 0, !byPassword && len(keys) == 0:
		return invalid("linuxConfiguration", "Authentication using either SSH or by user name and password must be enabled in Linux profile.")
	case byPassword && wire.Text(os, "adminPassword") == "":
		return missing("adminPassword")
	}
	for _, k := range keys {
		if path := "/home/" + user + "/.ssh/authorized_keys"; wire.Text(k, "path") != path {
			return invalid("linuxConfiguration.ssh.publicKeys.path", "Destination path for SSH public keys is currently limited to its default value %s due to a known issue in Linux provisioning agent.", path)
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(wire.Text(k, "keyData")))
		if err != nil || key.Type() != ssh.KeyAlgoRSA && key.Type() != ssh.KeyAlgoED25519 {
			return invalid("linuxConfiguration.ssh.publicKeys.keyData", "The value of parameter linuxConfiguration.ssh.publicKeys.keyData is invalid.")
		}
	}
	return nil
}

// customData checks what the guest is given at its first boot.
func (m *machineCheck) customData() error {
	if !encoded(wire.Text(wire.Sub(m.props, "osProfile"), "customData")) {
		return invalid("customData", "Custom data in OSProfile must be in Base64 encoding and with a maximum length of %d characters.", maxCustomData)
	}
	if !encoded(wire.Text(m.props, "userData")) {
		return invalid("userData", "User data must be in Base64 encoding and with a maximum length of %d characters.", maxCustomData)
	}
	return nil
}

func encoded(data string) bool {
	_, err := base64.StdEncoding.DecodeString(data)
	return err == nil && len(data) <= maxCustomData
}
