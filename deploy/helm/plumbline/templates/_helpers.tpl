{{/* Returns the namespace of the run. */}}
{{- define "plumbline.namespace" -}}
{{- if .Values.namespace.name -}}
{{ .Values.namespace.name }}
{{- else if .Values.namespace.create -}}
sonobuoy
{{- else -}}
{{ .Release.Namespace }}
{{- end -}}
{{- end -}}

{{/* Returns the image of the aggregator and the workers. */}}
{{- define "plumbline.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/*
Returns the labels of an object: those of the chart, overridden by those of the values, overridden by those by which
the program finds the object (`own`).
*/}}
{{- define "plumbline.labels" -}}
{{- $labels := dict
  "app.kubernetes.io/name" .root.Chart.Name
  "app.kubernetes.io/instance" .root.Release.Name
  "app.kubernetes.io/managed-by" .root.Release.Service
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")
-}}
{{- $labels = mergeOverwrite $labels (deepCopy .root.Values.labels) (dict "component" "sonobuoy") (.own | default dict) -}}
{{- toYaml $labels -}}
{{- end -}}
