"""OpenTelemetry: the spans of the file, sent to a collector while runs are driven, or afterwards."""
