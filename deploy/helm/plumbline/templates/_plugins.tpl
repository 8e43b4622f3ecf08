{{/*
Returns the definitions of the run as JSON, by the names of their plugins. Each is prepared as `plumbline gen` does:
with the image of the run if it has none, its environment, and the mounts of its results and files.
*/}}
{{- define "plumbline.definitions" -}}
{{- $root := . -}}
{{- $config := fromJson (include "plumbline.config" .) -}}
{{- $all := dict -}}
{{- range $name := .Values.builtInPlugins -}}
  {{- $text := $root.Files.Get (printf "files/plugins/%s.yaml" $name) -}}
  {{- if not $text -}}
    {{- $there := list -}}
    {{- range $path, $_ := $root.Files.Glob "files/plugins/*.yaml" -}}
      {{- $there = append $there (printf "`%s`" (base $path | trimSuffix ".yaml")) -}}
    {{- end -}}
    {{- fail (printf "`builtInPlugins`: this chart has no plugin `%s`, only %s; for your own plugins, use `plugins`" $name (join ", " $there)) -}}
  {{- end -}}
  {{- $_ := set $all $name (fromYaml $text) -}}
{{- end -}}
{{- range $name, $definition := .Values.plugins -}}
  {{- $setting := printf "`plugins.%s`" $name -}}
  {{- if hasKey $all $name }}{{ fail (printf "%s: the built-in plugin of this name is already in the run: remove it from `builtInPlugins`" $setting) }}{{ end -}}
  {{- if kindIs "string" $definition }}{{ $definition = fromYaml $definition }}{{ end -}}
  {{- $definition = deepCopy $definition -}}
  {{- with $definition.Error }}{{ fail (printf "%s: this text is not YAML: %s" $setting .) }}{{ end -}}
  {{- $said := dig "sonobuoy-config" "plugin-name" "" $definition -}}
  {{- if ne $said $name }}{{ fail (printf "%s: its `sonobuoy-config.plugin-name` must also be `%s`: found `%s`" $setting $name $said) }}{{ end -}}
  {{- if not (kindIs "map" $definition.spec) }}{{ fail (printf "%s: it has no `spec`" $setting) }}{{ end -}}
  {{- $_ := set $all $name $definition -}}
{{- end -}}
{{- range $name, $definition := $all -}}
  {{- $_ := include "plumbline.prepare" (dict "root" $root "config" $config "name" $name "definition" $definition) -}}
{{- end -}}
{{- include "plumbline.checkAccounts" $all -}}
{{- toJson $all -}}
{{- end -}}

{{/* Rejects a pod with the account of another plugin: it would get permissions for which its definition does not ask. */}}
{{- define "plumbline.checkAccounts" -}}
{{- range $owner, $definition := . -}}
  {{- $permissions := dig "plumbline" "permissions" (dict) $definition | default dict -}}
  {{- if or $permissions.cluster $permissions.namespace -}}
    {{- range $name, $other := $ -}}
      {{- $pod := $other.podSpec | default dict -}}
      {{- $named := $pod.serviceAccountName | default $pod.serviceAccount -}}
      {{- if and (ne $name $owner) (eq (toString $named) (printf "plumbline-plugin-%s" $owner)) }}{{ fail (printf "plugin `%s` names the service account `%s`, which is that of plugin `%s`: list what it needs under `plumbline.permissions`" $name $named $owner) }}{{ end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* Prepares one definition in place. */}}
{{- define "plumbline.prepare" -}}
{{- $name := .name -}}
{{- $config := .config -}}
{{- $definition := .definition -}}
{{- $version := .root.Values.kubernetesVersion -}}
{{- $spec := $definition.spec -}}
{{- if not $spec.image -}}
  {{- if not $spec.command }}{{ fail (printf "plugin `%s`: its `spec` names neither an `image` nor a `command` in the image of the run" $name) }}{{ end -}}
  {{- if not $spec.imagePullPolicy }}{{ $_ := set $spec "imagePullPolicy" $config.ImagePullPolicy }}{{ end -}}
  {{- $_ := set $spec "image" $config.WorkerImage -}}
{{- end -}}
{{- if contains "$SONOBUOY_K8S_VERSION" $spec.image -}}
  {{- if not $version }}{{ fail (printf "plugin `%s`: its image `%s` needs the version of the cluster: set `kubernetesVersion`" $name $spec.image) }}{{ end -}}
  {{- $_ := set $spec "image" (replace "$SONOBUOY_K8S_VERSION" $version $spec.image) -}}
{{- end -}}
{{- $files := index $definition "config-map" -}}
{{- $volume := include "plumbline.filesVolume" $name -}}
{{- if $files -}}
  {{- $volumes := list -}}
  {{- range (index $definition "extra-volumes") }}{{ if ne .name $volume }}{{ $volumes = append $volumes . }}{{ end }}{{ end -}}
  {{- $volumes = append $volumes (dict "name" $volume "configMap" (dict "name" (printf "plugin-%s-cm" $name))) -}}
  {{- $_ := set $definition "extra-volumes" $volumes -}}
{{- end -}}
{{- $automatic := dict
  "RESULTS_DIR" $config.ResultsDir
  "SONOBUOY" "true"
  "SONOBUOY_CONFIG_DIR" "/tmp/sonobuoy/config"
  "SONOBUOY_PROGRESS_PORT" $config.ProgressUpdatesPort
  "SONOBUOY_RESULTS_DIR" $config.ResultsDir
-}}
{{- if $version }}{{ $_ := set $automatic "SONOBUOY_K8S_VERSION" $version }}{{ end -}}
{{- range $container := prepend (dig "podSpec" "containers" (list) $definition | default list) $spec -}}
  {{- if $config.ForceImagePullPolicy }}{{ $_ := set $container "imagePullPolicy" $config.ImagePullPolicy }}{{ end -}}
  {{- if $files }}{{ $_ := include "plumbline.mount" (dict "container" $container "name" $volume "path" "/tmp/sonobuoy/config") }}{{ end -}}
  {{- $_ := include "plumbline.mount" (dict "container" $container "name" "results" "path" $config.ResultsDir) -}}
  {{- $variables := dict -}}
  {{- /* Sort by lower-cased name. If a name occurs twice, its last value wins. */ -}}
  {{- range $container.env }}{{ $_ := set $variables (printf "%s\x01%s" (lower .name) .name) . }}{{ end -}}
  {{- range $key, $value := $automatic }}{{ $_ := set $variables (printf "%s\x01%s" (lower $key) $key) (dict "name" $key "value" $value) }}{{ end -}}
  {{- $env := list -}}
  {{- range $_, $variable := $variables }}{{ $env = append $env $variable }}{{ end -}}
  {{- $_ := set $container "env" $env -}}
{{- end -}}
{{- end -}}

{{/* Returns the name of the volume with a plugin's files. The name of a plugin may have dots, that of a volume may not. */}}
{{- define "plumbline.filesVolume" -}}
sonobuoy-{{ . | replace "." "-" | trunc 50 }}-vol
{{- end -}}

{{/* Mounts a volume. If it is already mounted elsewhere, moves that mount. */}}
{{- define "plumbline.mount" -}}
{{- $all := . -}}
{{- $found := false -}}
{{- range .container.volumeMounts -}}
  {{- if and (not $found) (eq .name $all.name) -}}
    {{- $_ := set . "mountPath" $all.path -}}
    {{- $found = true -}}
  {{- end -}}
{{- end -}}
{{- if not $found -}}
  {{- $_ := set .container "volumeMounts" (append (.container.volumeMounts | default list) (dict "name" .name "mountPath" .path)) -}}
{{- end -}}
{{- end -}}
