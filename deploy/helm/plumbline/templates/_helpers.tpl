{{/* The namespace of the run. */}}
{{- define "plumbline.namespace" -}}
{{- if .Values.namespace.name -}}
{{ .Values.namespace.name }}
{{- else if .Values.namespace.create -}}
sonobuoy
{{- else -}}
{{ .Release.Namespace }}
{{- end -}}
{{- end -}}

{{/* The image of aggregator and workers. */}}
{{- define "plumbline.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The labels of an object: those of the chart, over them those of the values, over them those by which the program finds it (`own`). */}}
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
