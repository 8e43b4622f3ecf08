{{/* Returns the spec of the aggregator's pod, which is also that of the pods of a schedule. */}}
{{- define "plumbline.podSpec" -}}
{{- $values := .Values -}}
containers:
- name: kube-sonobuoy
  image: {{ include "plumbline.image" . }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  command: [/sonobuoy]
  args:
  - aggregator
  {{- if not $values.schedule.cron }}
  - --no-exit
  {{- end }}
  - --level={{ $values.logLevel }}
  - -v={{ get (dict "trace" 6 "debug" 5 "info" 4) $values.logLevel }}
  - --alsologtostderr
  env:
  {{- $variables := dict
    "SONOBUOY_ADVERTISE_IP" (dict "name" "SONOBUOY_ADVERTISE_IP" "valueFrom" (dict "fieldRef" (dict "fieldPath" "status.podIP")))
    "SONOBUOY_NAMESPACE" (dict "name" "SONOBUOY_NAMESPACE" "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.namespace")))
    "SONOBUOY_POD" (dict "name" "SONOBUOY_POD" "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.name")))
    "XDG_CACHE_HOME" (dict "name" "XDG_CACHE_HOME" "value" "/tmp/cache")
  }}
  {{- if $values.schedule.cron }}
  {{- $_ := set $variables "PLUMBLINE_JOB" (dict "name" "PLUMBLINE_JOB" "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.labels['batch.kubernetes.io/job-name']"))) }}
  {{- $_ := set $variables "PLUMBLINE_JOB_UID" (dict "name" "PLUMBLINE_JOB_UID" "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.labels['batch.kubernetes.io/controller-uid']"))) }}
  {{- end }}
  {{- range $name, $value := $values.env }}
  {{- if $value }}{{ $_ := set $variables $name (dict "name" $name "value" $value) }}{{ else }}{{ $_ := unset $variables $name }}{{ end }}
  {{- end }}
  {{- range $name, $variable := $variables }}
  {{- toYaml (list $variable) | nindent 2 }}
  {{- end }}
  {{- with compact (list $values.upload.secret $values.telemetry.otlp.secret) }}
  envFrom:
  {{- range . }}
  - secretRef:
      name: {{ . }}
  {{- end }}
  {{- end }}
  {{- with $values.telemetry.metricsPort }}
  ports:
  - containerPort: {{ int . }}
    name: metrics
    protocol: TCP
  {{- end }}
  volumeMounts:
  - name: sonobuoy-config-volume
    mountPath: /etc/sonobuoy
  - name: sonobuoy-plugins-volume
    mountPath: /plugins.d
  - name: scratch-volume
    mountPath: /tmp
  - name: output-volume
    mountPath: /tmp/sonobuoy
  {{- with $values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  startupProbe:
    exec:
      command: [/sonobuoy, version, --short]
    periodSeconds: 2
    timeoutSeconds: 10
    failureThreshold: 60
  terminationMessagePolicy: FallbackToLogsOnError
  {{- if ne $values.securityContextMode "none" }}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      drop: [ALL]
    readOnlyRootFilesystem: true
  {{- end }}
nodeSelector:
  {{- mergeOverwrite (dict "kubernetes.io/os" "linux") (deepCopy $values.nodeSelector) | toYaml | nindent 2 }}
restartPolicy: {{ ternary "Never" "OnFailure" (ne $values.schedule.cron "") }}
serviceAccountName: {{ $values.serviceAccount.name }}
{{- with $values.imagePullSecret }}
imagePullSecrets:
- name: {{ . }}
{{- end }}
{{- if ne $values.securityContextMode "none" }}
securityContext:
  {{- if eq $values.securityContextMode "nonroot" }}
  runAsUser: 1000
  runAsGroup: 3000
  fsGroup: 2000
  {{- end }}
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
{{- end }}
tolerations:
- key: kubernetes.io/e2e-evict-taint-key
  operator: Exists
- key: node-role.kubernetes.io/control-plane
  operator: Exists
  effect: NoSchedule
- key: node-role.kubernetes.io/master
  operator: Exists
  effect: NoSchedule
{{- with $values.tolerations }}
{{- toYaml . | nindent 0 }}
{{- end }}
volumes:
- name: sonobuoy-config-volume
  configMap:
    name: sonobuoy-config-cm
- name: sonobuoy-plugins-volume
  configMap:
    name: sonobuoy-plugins-cm
- name: scratch-volume
  emptyDir: {}
- name: output-volume
  {{- if eq $values.storage.type "pvc" }}
  persistentVolumeClaim:
    claimName: plumbline-output
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end -}}

{{/* Returns the labels and annotations of the aggregator's pod. */}}
{{- define "plumbline.podMetadata" -}}
labels:
  {{- include "plumbline.labels" (dict "root" . "own" (dict "sonobuoy-component" "aggregator" "tier" "analysis")) | nindent 2 }}
{{- with .Values.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
