{{/*
Returns the configuration as JSON: the program's defaults (files/config.json), overridden by `config`, overridden
by the other values.
*/}}
{{- define "plumbline.config" -}}
{{- $values := .Values -}}
{{- $config := fromJson (.Files.Get "files/config.json") -}}
{{- $elsewhere := dict
  "config.Namespace" "namespace.name"
  "config.WorkerImage" "image"
  "config.ImagePullPolicy" "image.pullPolicy"
  "config.ImagePullSecrets" "imagePullSecret"
  "config.CustomAnnotations" "annotations"
  "config.AggregatorPermissions" "permissions"
  "config.AggregatorTolerations" "tolerations"
  "config.ServiceAccountName" "serviceAccount.name"
  "config.ExistingServiceAccount" "serviceAccount.create"
  "config.NamespacePSAEnforceLevel" "namespace.podSecurity"
  "config.SecurityContextMode" "securityContextMode"
  "config.Server.timeoutseconds" "timeoutSeconds"
  "config.Plumbline.DeadlineSeconds" "deadlineSeconds"
  "config.Plumbline.Schedule" "schedule"
  "config.Plumbline.KubernetesVersion" "kubernetesVersion"
  "config.Plumbline.Storage" "storage"
  "config.Plumbline.UploadURL" "upload.url"
  "config.Plumbline.UploadSecret" "upload.secret"
  "config.Plumbline.Telemetry" "telemetry"
  "config.Plumbline.NamespaceLabels" "namespace.labels"
  "config.Plumbline.NamespaceAnnotations" "namespace.annotations"
-}}
{{- $_ := include "plumbline.overlay" (dict "onto" $config "given" $values.config "path" "config" "elsewhere" $elsewhere) -}}

{{- $_ := set $config "Namespace" (include "plumbline.namespace" .) -}}
{{- $_ := set $config "WorkerImage" (include "plumbline.image" .) -}}
{{- $_ := set $config "ImagePullPolicy" $values.image.pullPolicy -}}
{{- $_ := set $config "ImagePullSecrets" $values.imagePullSecret -}}
{{- $_ := set $config "AggregatorPermissions" $values.permissions -}}
{{- $_ := set $config "ServiceAccountName" $values.serviceAccount.name -}}
{{- $_ := set $config "NamespacePSAEnforceLevel" $values.namespace.podSecurity -}}
{{- $_ := set $config "SecurityContextMode" $values.securityContextMode -}}
{{- $_ := set $config.Server "timeoutseconds" $values.timeoutSeconds -}}
{{- if not $values.serviceAccount.create }}{{ $_ := set $config "ExistingServiceAccount" true }}{{ end -}}
{{- with $values.annotations }}{{ $_ := set $config "CustomAnnotations" . }}{{ end -}}
{{- with $values.tolerations }}{{ $_ := set $config "AggregatorTolerations" . }}{{ end -}}

{{- $own := $config.Plumbline -}}
{{- $_ := set $own "DeadlineSeconds" $values.deadlineSeconds -}}
{{- $_ := set $own "KubernetesVersion" $values.kubernetesVersion -}}
{{- $_ := set $own "UploadURL" $values.upload.url -}}
{{- $_ := set $own "UploadSecret" $values.upload.secret -}}
{{- with $values.telemetry -}}
{{- if or .metricsPort .otlp.endpoint .otlp.secret -}}
{{- $_ := set $own "Telemetry" (dict "MetricsPort" .metricsPort "OTLPEndpoint" .otlp.endpoint "OTLPSecret" .otlp.secret) -}}
{{- end -}}
{{- end -}}
{{- with $values.namespace.labels }}{{ $_ := set $own "NamespaceLabels" . }}{{ end -}}
{{- with $values.namespace.annotations }}{{ $_ := set $own "NamespaceAnnotations" . }}{{ end -}}
{{- if eq $values.storage.type "pvc" -}}
{{- $_ := set $own "Storage" (printf "pvc:%s%s" $values.storage.size (ternary (printf ":%s" $values.storage.class) "" (ne $values.storage.class ""))) -}}
{{- end -}}
{{- with $values.schedule.cron -}}
{{- $keep := dict "KeepRuns" $values.schedule.keepRuns "KeepDays" $values.schedule.keepDays "KeepBytes" $values.schedule.keepBytes -}}
{{- $schedule := dict "Cron" . "TimeZone" $values.schedule.timeZone -}}
{{- range $key, $limit := $keep -}}
  {{- if not (kindIs "invalid" $limit) -}}
    {{- if ne $values.storage.type "pvc" }}{{ fail "`schedule.keepRuns`, `.keepDays` and `.keepBytes` need a volume: set `storage.type` to `pvc`" }}{{ end -}}
    {{- $_ := set $schedule $key (int64 $limit) -}}
  {{- end -}}
{{- end -}}
{{- if and (ne $values.storage.type "pvc") (not $values.upload.url) }}{{ fail "`schedule`: the archive of a run is lost with its pod: set `storage.type` to `pvc`, or `upload.url`" }}{{ end -}}
{{- $_ := set $own "Schedule" $schedule -}}
{{- if not $values.deadlineSeconds }}{{ $_ := set $own "DeadlineSeconds" 86400 }}{{ end -}}
{{- end -}}
{{- toJson $config -}}
{{- end -}}

{{/*
Merges `given` into `onto`, key by key. Helm's own functions drop empty and false values, which are meaningful here.
The program ignores the case of keys, so a key in another case must replace the existing one.
*/}}
{{- define "plumbline.overlay" -}}
{{- $all := . -}}
{{- range $key, $value := .given -}}
  {{- $path := printf "%s.%s" $all.path $key -}}
  {{- range $known, $ := $all.onto -}}
    {{- if and (eq (lower $known) (lower $key)) (ne $known $key) -}}
      {{- fail (printf "`%s`: this key is spelled `%s`" $path $known) -}}
    {{- end -}}
  {{- end -}}
  {{- range $reserved, $setting := $all.elsewhere -}}
    {{- if eq (lower $reserved) (lower $path) -}}
      {{- fail (printf "`%s` has a setting of its own: use `%s`" $path $setting) -}}
    {{- end -}}
  {{- end -}}
  {{- if and (kindIs "map" $value) (kindIs "map" (get $all.onto $key)) -}}
    {{- $_ := include "plumbline.overlay" (dict "onto" (get $all.onto $key) "given" $value "path" $path "elsewhere" $all.elsewhere) -}}
  {{- else -}}
    {{- $_ := set $all.onto $key $value -}}
  {{- end -}}
{{- end -}}
{{- end -}}
