{{/*
Returns the roles of a mode with their bindings, from files/rbac, for this namespace and service account.
*/}}
{{- define "plumbline.roles" -}}
{{- $root := .root -}}
{{- $mode := .mode -}}
{{- $namespace := include "plumbline.namespace" $root -}}
{{- $labels := fromYaml (include "plumbline.labels" (dict "root" $root "own" (dict "namespace" $namespace))) -}}
{{- range $text := splitList "---\n" ($root.Files.Get (printf "files/rbac/%s.yaml" $mode)) -}}
  {{- $object := fromYaml $text -}}
  {{- with $object.kind -}}
    {{- $_ := set $object.metadata "labels" $labels -}}
    {{- if hasPrefix "Cluster" . -}}
      {{- $_ := set $object.metadata "name" (printf "sonobuoy-serviceaccount-%s" $namespace) -}}
    {{- else -}}
      {{- $_ := set $object.metadata "namespace" $namespace -}}
    {{- end -}}
    {{- if hasSuffix "Binding" . -}}
      {{- $_ := set $object.roleRef "name" $object.metadata.name -}}
      {{- $_ := set $object "subjects" (list (dict "kind" "ServiceAccount" "name" $root.Values.serviceAccount.name "namespace" $namespace)) -}}
    {{- else if and (eq . "Role") $root.Values.schedule.cron (has $mode (list "minimal" "clusterRead")) -}}
      {{- $rule := dict "apiGroups" (list "") "resources" (list "configmaps") "resourceNames" (list "plumbline-schedule") "verbs" (list "get" "patch") -}}
      {{- $_ := set $object "rules" (append $object.rules $rule) -}}
    {{- else if and (eq . "ClusterRole") (eq $mode "minimal") -}}
      {{- $_ := set $object "rules" (include "plumbline.minimal" (dict "root" $root "rules" $object.rules) | fromJsonArray) -}}
    {{- else if and (eq . "ClusterRole") (eq $mode "clusterRead") -}}
      {{- $_ := set $object "rules" (include "plumbline.clusterRead" (dict "root" $root "rules" $object.rules) | fromJsonArray) -}}
    {{- end }}
---
{{ toYaml $object }}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/*
Returns the cluster-wide rules of the mode `minimal` as JSON. Those of the file are for recording everything. If the
configuration has `Resources`, rules for these replace them, except the first rule (nodes), the second one (events) if
`Resources` names events, and the last one (discovery).
*/}}
{{- define "plumbline.minimal" -}}
{{- $config := fromJson (include "plumbline.config" .root) -}}
{{- $rules := .rules -}}
{{- if kindIs "slice" $config.Resources -}}
  {{- $named := fromJsonArray (include "plumbline.recorded" $config) -}}
  {{- $rules = list (first .rules) -}}
  {{- if has "events" $named }}{{ $rules = append $rules (index .rules 1) }}{{ end -}}
  {{- if $named -}}
    {{- $read := list "get" "list" -}}
    {{- $plain := fromJsonArray (include "plumbline.resources" $config) -}}
    {{- if $plain }}{{ $rules = append $rules (dict "apiGroups" (list "*") "resources" $plain "verbs" $read) }}{{ end -}}
    {{- $lists := list "namespaces" -}}
    {{- if has "podlogs" $named }}{{ $lists = append $lists "pods" }}{{ end -}}
    {{- $rules = append $rules (dict "apiGroups" (list "") "resources" $lists "verbs" $read) -}}
    {{- if has "podlogs" $named }}{{ $rules = append $rules (dict "apiGroups" (list "") "resources" (list "pods/log") "verbs" (list "get")) }}{{ end -}}
    {{- $rules = append $rules (last .rules) -}}
  {{- end -}}
{{- end -}}
{{- include "plumbline.withKubelets" (dict "config" $config "rules" $rules) -}}
{{- end -}}

{{/* Returns the rules of the mode `clusterRead` as JSON: those of the file, and those for `Resources`. */}}
{{- define "plumbline.clusterRead" -}}
{{- $config := fromJson (include "plumbline.config" .root) -}}
{{- $rules := .rules -}}
{{- if kindIs "slice" $config.Resources -}}
  {{- $plain := fromJsonArray (include "plumbline.resources" $config) -}}
  {{- if $plain -}}
    {{- $rule := dict "apiGroups" (list "*") "resources" $plain "verbs" (list "get" "list" "watch") -}}
    {{- $rules = concat (initial $rules) (list $rule (last $rules)) -}}
  {{- end -}}
{{- end -}}
{{- include "plumbline.withKubelets" (dict "config" $config "rules" $rules) -}}
{{- end -}}

{{/* Returns the entries of `Resources` as JSON, in lower case and sorted. */}}
{{- define "plumbline.recorded" -}}
{{- $named := list -}}
{{- range .Resources }}{{ $named = append $named (lower .) }}{{ end -}}
{{- toJson ($named | uniq | sortAlpha) -}}
{{- end -}}

{{/*
Returns the entries that name resources, as JSON. No query records `*` or a subresource, and a permission for it would
be one to read Secrets, or to run commands in pods.
*/}}
{{- define "plumbline.resources" -}}
{{- $plain := list -}}
{{- range without (fromJsonArray (include "plumbline.recorded" .)) "podlogs" "servergroups" "serverversion" -}}
  {{- if regexMatch "^[a-z0-9][a-z0-9._-]{0,252}$" . }}{{ $plain = append $plain . }}{{ end -}}
{{- end -}}
{{- toJson $plain -}}
{{- end -}}

{{/* Returns the rules. If kubelets are queried, the rule for them is added before the last rule. */}}
{{- define "plumbline.withKubelets" -}}
{{- $recorded := fromJsonArray (include "plumbline.recorded" .config) -}}
{{- $nodes := or (not (kindIs "slice" .config.Resources)) (has "nodes" $recorded) -}}
{{- if and $nodes (dig "Plumbline" "QueryKubelets" false .config) -}}
  {{- $rule := dict "apiGroups" (list "") "resources" (list "nodes/proxy") "verbs" (list "get") -}}
  {{- toJson (concat (initial .rules) (list $rule (last .rules))) -}}
{{- else -}}
  {{- toJson .rules -}}
{{- end -}}
{{- end -}}

{{/* Returns `plumbline.permissions` of all plugins that have any, by their names, as JSON. */}}
{{- define "plumbline.permissions" -}}
{{- $account := .Values.serviceAccount.name -}}
{{- $all := dict -}}
{{- range $name, $definition := fromJson (include "plumbline.definitions" .) -}}
  {{- $permissions := dig "plumbline" "permissions" (dict) $definition | default dict -}}
  {{- if or $permissions.cluster $permissions.namespace -}}
    {{- $pod := $definition.podSpec | default dict -}}
    {{- $named := $pod.serviceAccountName | default $pod.serviceAccount -}}
    {{- if and $named (ne $named $account) }}{{ fail (printf "plugin `%s` names the service account `%s` and has `plumbline.permissions`: remove one of the two" $name $named) }}{{ end -}}
    {{- $_ := set $all $name $permissions -}}
  {{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* Returns the roles of these plugins with their bindings. */}}
{{- define "plumbline.pluginRoles" -}}
{{- $root := . -}}
{{- $namespace := include "plumbline.namespace" . -}}
{{- $labels := fromYaml (include "plumbline.labels" (dict "root" $root "own" (dict "namespace" $namespace))) -}}
{{- range $plugin, $permissions := fromJson (include "plumbline.permissions" .) -}}
  {{- $account := printf "plumbline-plugin-%s" $plugin -}}
  {{- with $permissions.cluster -}}
    {{- if eq $root.Values.permissions "namespaceAdmin" }}{{ fail (printf "plugin `%s` requests cluster permissions, but the mode `namespaceAdmin` creates roles only in its namespace: use the mode `minimal`" $plugin) }}{{ end -}}
    {{- $metadata := dict "name" (printf "sonobuoy-serviceaccount-%s-plugin-%s" $namespace $plugin) "labels" $labels -}}
    {{- include "plumbline.roleAndBinding" (dict "prefix" "Cluster" "metadata" $metadata "rules" . "account" $account "namespace" $namespace) -}}
  {{- end -}}
  {{- with $permissions.namespace -}}
    {{- $metadata := dict "name" $account "namespace" $namespace "labels" $labels -}}
    {{- include "plumbline.roleAndBinding" (dict "prefix" "" "metadata" $metadata "rules" . "account" $account "namespace" $namespace) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* Returns a role and its binding to one service account. */}}
{{- define "plumbline.roleAndBinding" }}
{{- $group := "rbac.authorization.k8s.io" }}
---
apiVersion: {{ $group }}/v1
kind: {{ .prefix }}RoleBinding
metadata:
  {{- toYaml .metadata | nindent 2 }}
roleRef:
  apiGroup: {{ $group }}
  kind: {{ .prefix }}Role
  name: {{ .metadata.name }}
subjects:
- kind: ServiceAccount
  name: {{ .account }}
  namespace: {{ .namespace }}
---
apiVersion: {{ $group }}/v1
kind: {{ .prefix }}Role
metadata:
  {{- toYaml .metadata | nindent 2 }}
rules:
  {{- toYaml .rules | nindent 2 }}
{{- end }}
