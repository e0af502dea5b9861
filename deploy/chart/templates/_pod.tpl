{{/* What every Pod of alate has in common: labels, the image, and a container that holds to Pod Security "restricted". */}}
{{- define "alate.labels" -}}
app.kubernetes.io/name: alate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "alate.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "alate.pod" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "alate.container" -}}
image: {{ include "alate.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "alate.env" -}}
{{- $all := dict "ALATE_NATS_URL" .root.Values.nats.url "ALATE_HEALTH_ADDRESS" "0.0.0.0:8081" "ALATE_STATE_DIR" "/tmp/alate" "ALATE_LOG_FORMAT" "json" -}}
{{- if .root.Values.nats.keysSecret }}{{ $_ := set $all "ALATE_NATS_NKEY" "/run/alate/nats/seed" }}{{ end -}}
{{- if .root.Values.nats.caSecret }}{{ $_ := set $all "ALATE_NATS_CA" "/run/alate/ca/ca.crt" }}{{ end -}}
{{- range $name, $value := merge (dict) (.settings | default dict) (.root.Values.settings | default dict) (.own | default dict) $all }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "alate.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .root.Values.nats.keysSecret }}
- {name: nats, mountPath: /run/alate/nats, readOnly: true}
{{- end }}
{{- if .root.Values.nats.caSecret }}
- {name: ca, mountPath: /run/alate/ca, readOnly: true}
{{- end }}
{{- range $name, $_ := .files }}
- {name: {{ $name }}, mountPath: /run/alate/{{ $name }}, readOnly: true}
{{- end }}
{{- end }}

{{- define "alate.volumes" -}}
- {name: tmp, emptyDir: {}}
{{- with .root.Values.nats.keysSecret }}
- name: nats
  secret: {secretName: {{ . }}, items: [{key: {{ $.name }}, path: seed}]}
{{- end }}
{{- with .root.Values.nats.caSecret }}
- {name: ca, secret: {secretName: {{ . }}}}
{{- end }}
{{- range $name, $source := .files }}
- name: {{ $name }}
  {{- toYaml $source | nindent 2 }}
{{- end }}
{{- end }}
