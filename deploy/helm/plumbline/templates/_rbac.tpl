{{/*
The roles of a mode with their bindings, from files/rbac, for this namespace and service account. `suffix` ends the names of those for the
whole cluster.
*/}}
{{- define "plumbline.roles" -}}
{{- $root := .root -}}
{{- $mode := .mode -}}
{{- $suffix := .suffix -}}
{{- $namespace := include "plumbline.namespace" $root -}}
{{- $labels := fromYaml (include "plumbline.labels" (dict "root" $root "own" (dict "namespace" $namespace))) -}}
{{- range $text := splitList "---\n" ($root.Files.Get (printf "files/rbac/%s.yaml" $mode)) -}}
  {{- $object := fromYaml $text -}}
  {{- with $object.kind -}}
    {{- $_ := set $object.metadata "labels" $labels -}}
    {{- if hasPrefix "Cluster" . -}}
      {{- $_ := set $object.metadata "name" (printf "sonobuoy-serviceaccount-%s%s" $namespace $suffix) -}}
    {{- else -}}
      {{- $_ := set $object.metadata "namespace" $namespace -}}
    {{- end -}}
    {{- if hasSuffix "Binding" . -}}
      {{- $_ := set $object.roleRef "name" $object.metadata.name -}}
      {{- $_ := set $object "subjects" (list (dict "kind" "ServiceAccount" "name" $root.Values.serviceAccount.name "namespace" $namespace)) -}}
    {{- else if and (eq . "ClusterRole") (eq $mode "minimal") -}}
      {{- $_ := set $object "rules" (include "plumbline.minimal" (dict "root" $root "rules" $object.rules) | fromJsonArray) -}}
    {{- end }}
---
{{ toYaml $object }}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/*
The rules of the mode `minimal` for the whole cluster, as JSON: those of the file, which are for recording everything, unless `Resources` of
the configuration says what is recorded. The first of them are for nodes, the last is discovery.
*/}}
{{- define "plumbline.minimal" -}}
{{- $resources := (fromJson (include "plumbline.config" .root)).Resources -}}
{{- $rules := .rules -}}
{{- if kindIs "slice" $resources -}}
  {{- $named := list -}}
  {{- range $resources }}{{ $named = append $named (lower .) }}{{ end -}}
  {{- $rules = list (first .rules) -}}
  {{- if $named -}}
    {{- $read := list "get" "list" -}}
    {{- $plain := without $named "podlogs" "servergroups" "serverversion" | uniq | sortAlpha -}}
    {{- if $plain }}{{ $rules = append $rules (dict "apiGroups" (list "*") "resources" $plain "verbs" $read) }}{{ end -}}
    {{- $lists := list "namespaces" -}}
    {{- if has "podlogs" $named }}{{ $lists = append $lists "pods" }}{{ end -}}
    {{- $rules = append $rules (dict "apiGroups" (list "") "resources" $lists "verbs" $read) -}}
    {{- if has "podlogs" $named }}{{ $rules = append $rules (dict "apiGroups" (list "") "resources" (list "pods/log") "verbs" (list "get")) }}{{ end -}}
    {{- if has "nodes" $named }}{{ $rules = append $rules (dict "apiGroups" (list "") "resources" (list "nodes/proxy") "verbs" (list "get")) }}{{ end -}}
    {{- $rules = append $rules (last .rules) -}}
  {{- end -}}
{{- end -}}
{{- toJson $rules -}}
{{- end -}}
