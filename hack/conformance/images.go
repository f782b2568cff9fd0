package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/hypershift-on-azure/hypershift/images"
	"github.com/hypershift-on-azure/hypershift/images/registry"
	"github.com/hypershift-on-azure/hypershift/parts/build"
)

// setID is what makes nonewprivs' program run as its owner, which the test then sees prevented.
const setID fs.FileMode = 0o6755

// built is what suite and images are made of.
type built struct {
	build.Conformance
	parts string // directory of etcd and pause
}

func prepare(ctx context.Context, cache string) (built, error) {
	told := ""
	event := func(e build.Event) {
		if line := strings.TrimSpace(e.Program + " " + e.State); line != told {
			told = line
			fmt.Printf("  %s\n", line)
		}
	}
	var b built
	var err error
	if b.parts, err = build.Host().Build(ctx, cache, []string{"etcd", "pause"}, event); err != nil {
		return b, err
	}
	b.Conformance, err = build.Host().Conformance(ctx, cache, event)
	return b, err
}

// publish pushes those of the suite's images that can be built, and returns the others: the reference of each.
func publish(ctx context.Context, c config, b built, listed []string) (missing []string, err error) {
	specs, err := b.specs(ctx, c.caFile)
	if err != nil {
		return nil, err
	}
	store := &images.Store{Dir: filepath.Join(c.cache, "images")}
	client, err := registry.New(registry.Options{AuthFile: c.authFile, CAFile: c.caFile, UserAgent: "hypershift-conformance"})
	if err != nil {
		return nil, err
	}
	buildable, missing := split(listed, c.registry, specs)
	var refs []name.Reference
	var artifacts []images.Artifact
	for _, spec := range buildable {
		key := spec.Name + ":" + spec.Version
		ref, err := name.NewTag(c.registry + "/" + key)
		if err != nil {
			return nil, err
		}
		artifact, err := store.Artifact(key, []string{build.Host().Arch}, func(string) (images.Spec, error) { return spec, nil })
		if err != nil {
			return nil, err
		}
		refs, artifacts = append(refs, ref), append(artifacts, artifact)
	}
	fmt.Printf("  %d images of the suite can be built, %d cannot\n", len(refs), len(missing))
	return missing, client.PushAll(ctx, refs, artifacts, nil)
}

// split are the images that can be built, with name and tag that the suite has for each, and the references of the others.
func split(listed []string, registry string, specs map[string]images.Spec) (buildable []images.Spec, missing []string) {
	for _, image := range listed {
		key, ours := strings.CutPrefix(image, registry+"/")
		repository, tag, _ := strings.Cut(key, ":")
		spec, known := specs[repository]
		if !ours || !known {
			missing = append(missing, image)
			continue
		}
		spec.Name, spec.Version = repository, tag
		buildable = append(buildable, spec)
	}
	return buildable, missing
}

// specs are the images that can be built, by the names that the suite has for them.
func (b built) specs(ctx context.Context, caFile string) (map[string]images.Spec, error) {
	shell, err := b.shell(ctx)
	if err != nil {
		return nil, err
	}
	trust, err := trusted(filepath.Join(b.Debian.Dir, "usr/share/ca-certificates"), caFile)
	if err != nil {
		return nil, err
	}
	agnhost, err := b.agnhost(shell, trust)
	if err != nil {
		return nil, err
	}
	httpd, err := b.httpd(shell)
	if err != nil {
		return nil, err
	}
	nginx, err := b.nginx(shell)
	if err != nil {
		return nil, err
	}
	lookups, err := images.Closure(b.Debian, []string{"usr/bin/dig", "usr/bin/getent"})
	if err != nil {
		return nil, err
	}
	// The shell of Debian's busybox drops environment variables whose names are no identifiers, before a test sees them.
	bash, err := images.Closure(b.Debian, []string{"bin/bash"})
	if err != nil {
		return nil, err
	}
	bash = append(bash, images.File{Path: "bin/sh", Link: "bash"})
	etcd := []images.File{{Path: "usr/local/bin/etcd", Source: filepath.Join(b.parts, "etcd")}}
	server := func(of string) images.Spec {
		spec := agnhost
		spec.Cmd = []string{"test-webserver"}
		spec.Layers = slices.Concat(agnhost.Layers, [][]images.File{b.content(of+"/html", of+".jpg", "data.json")})
		return spec
	}
	return map[string]images.Spec{
		"agnhost":         agnhost,
		"kitten":          server("kitten"),
		"nautilus":        server("nautilus"),
		"busybox":         {Cmd: []string{"sh"}, Layers: [][]images.File{images.Base, without(shell, "bin/sh"), bash}},
		"httpd":           httpd,
		"nginx":           nginx,
		"jessie-dnsutils": {Cmd: []string{"sh"}, Layers: [][]images.File{images.Base, shell, lookups}},
		"pause":           {Entrypoint: []string{"/pause"}, User: "65535:65535", Layers: [][]images.File{images.Base, {{Path: "pause", Source: filepath.Join(b.parts, "pause")}}}},
		"etcd":            {Layers: [][]images.File{images.Base, shell, etcd}},
		"nonewprivs": {Cmd: []string{"/usr/local/bin/nnp"}, Layers: [][]images.File{images.Base, shell,
			{{Path: "usr/local/bin/nnp", Source: b.program("nonewprivs"), Mode: setID}}}},
		"nonroot":          {User: "1234", Cmd: []string{"sh"}, Layers: [][]images.File{images.Base, shell}},
		"sample-apiserver": {Entrypoint: []string{"/sample-apiserver"}, Layers: [][]images.File{images.Base, {{Path: "sample-apiserver", Source: b.program("sample-apiserver")}}}},
	}, nil
}

func (b built) program(name string) string { return filepath.Join(b.Bin, name) }

// content are files that Kubernetes' source has for an image, at the image's root.
func (b built) content(of string, names ...string) []images.File {
	var files []images.File
	for _, file := range names {
		files = append(files, images.File{Path: file, Source: filepath.Join(b.Source, "test/images", of, file), Mode: 0o644})
	}
	return files
}

// shell is Debian's busybox under every name that it answers to but wget: it is built without wget's timeout, which tests give.
func (b built) shell(ctx context.Context) ([]images.File, error) {
	const busybox = "bin/busybox"
	files, err := images.Closure(b.Debian, []string{busybox, "usr/bin/wget"})
	if err != nil {
		return nil, err
	}
	applets, err := exec.CommandContext(ctx, filepath.Join(b.Debian.Dir, busybox), "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("busybox does not list its names: %w", err)
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" && applet != "wget" {
			files = append(files, images.File{Path: "bin/" + applet, Link: "busybox"})
		}
	}
	return files, nil
}

// trusted are Debian's authorities, as its update-ca-certificates puts them together, and those of a file.
func trusted(dir, caFile string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*/*.crt"))
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("%s has no certificates", dir)
	}
	if caFile != "" {
		files = append(files, caFile)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("certificates that images trust: %w", err)
		}
		all.WriteString(strings.TrimSpace(string(text)) + "\n")
	}
	return all.String(), nil
}

// without leaves out the files that others bring.
func without(files []images.File, paths ...string) []images.File {
	return slices.DeleteFunc(slices.Clone(files), func(f images.File) bool { return slices.Contains(paths, f.Path) })
}

// agnhost is what test/images/agnhost/Dockerfile makes, of Debian's packages in place of Alpine's and without CoreDNS and iperf.
func (b built) agnhost(shell []images.File, trust string) (images.Spec, error) {
	tools, err := images.Closure(b.Debian, []string{"usr/bin/dig", "usr/bin/curl", "bin/nc.openbsd", "bin/ip", "bin/ss", "bin/bash", "usr/bin/getent"})
	if err != nil {
		return images.Spec{}, err
	}
	tools = append(tools, images.File{Path: "bin/nc", Link: "nc.openbsd"})
	users := []images.File{
		{Path: "etc/passwd", Mode: 0o644, Text: "root:x:0:0:root:/:/bin/sh\nuser-defined-in-image:x:1000:1000:Linux User:/home/user-defined-in-image:/bin/sh\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"},
		{Path: "etc/group", Mode: 0o644, Text: "root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\nnogroup:x:65534:\n"},
		{Path: "uploads/.keep", Mode: 0o644},
		{Path: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Text: trust},
	}
	own := append(b.content("agnhost/porter", "localhost.crt", "localhost.key"),
		images.File{Path: "agnhost", Source: b.program("agnhost")}, images.File{Path: "agnhost-2", Link: "agnhost"})
	return images.Spec{Entrypoint: []string{"/agnhost"}, Cmd: []string{"pause"},
		Layers: [][]images.File{images.Base, without(shell, "bin/nc", "bin/ip"), tools, users, own}}, nil
}

const httpdConf = `ServerRoot "/usr/local/apache2"
ServerName localhost
Listen 80
PidFile /tmp/httpd.pid
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
TypesConfig conf/mime.types
User nobody
Group nogroup
DocumentRoot "/usr/local/apache2/htdocs"
DirectoryIndex index.html
ErrorLog /proc/self/fd/2
LogFormat "%h %l %u %t \"%r\" %>s %b" common
CustomLog /proc/self/fd/1 common
`

// httpd is Debian's Apache with the folders of the image that the suite names.
func (b built) httpd(shell []images.File) (images.Spec, error) {
	const root = "usr/local/apache2"
	server, err := images.Closure(b.Debian, []string{"usr/sbin/apache2"}, "usr/lib/apache2/modules/mod_mpm_event.so",
		"usr/lib/apache2/modules/mod_authz_core.so", "usr/lib/apache2/modules/mod_dir.so", "usr/lib/apache2/modules/mod_mime.so")
	if err != nil {
		return images.Spec{}, err
	}
	return images.Spec{Cmd: []string{"/usr/sbin/apache2", "-DFOREGROUND", "-f", "/" + root + "/conf/httpd.conf"},
		Layers: [][]images.File{images.Base, shell, server, {
			{Path: root + "/conf/httpd.conf", Text: httpdConf, Mode: 0o644},
			{Path: root + "/conf/mime.types", Text: "text/html html\n", Mode: 0o644},
			{Path: root + "/htdocs/index.html", Text: "<html><body><h1>It works!</h1></body></html>\n", Mode: 0o644},
		}}}, nil
}

const nginxConf = `user nobody nogroup;
worker_processes 1;
error_log /dev/stderr notice;
pid /run/nginx.pid;
daemon off;
events { worker_connections 1024; }
http {
  access_log /dev/stdout;
  server { listen 80; root /usr/share/nginx/html; index index.html; }
}
`

// nginx is Debian's, with its welcome page.
func (b built) nginx(shell []images.File) (images.Spec, error) {
	server, err := images.Closure(b.Debian, []string{"usr/sbin/nginx"})
	if err != nil {
		return images.Spec{}, err
	}
	page := filepath.Join(b.Debian.Dir, "usr/share/nginx/html/index.html")
	if _, err := os.Stat(page); err != nil {
		return images.Spec{}, err
	}
	return images.Spec{Cmd: []string{"/usr/sbin/nginx"}, Layers: [][]images.File{images.Base, shell, server, {
		{Path: "etc/nginx/nginx.conf", Text: nginxConf, Mode: 0o644},
		{Path: path.Join("usr/share/nginx/html", "index.html"), Source: page, Mode: 0o644},
		{Path: "var/lib/nginx/.keep", Mode: 0o644},
		{Path: "var/log/nginx/.keep", Mode: 0o644},
	}}}, nil
}
