"""Sends spans to a collector by OTLP over HTTP, with the libraries of the extra `otel`.

spec: @tracing
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from engine.errors import EngineError, ValidationError

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

    from .rows import Span

_NEEDS = "opentelemetry.exporter.otlp.proto.http"
_PATH = "/v1/traces"


def exporter_to(endpoint: str | None) -> SpanExporter:
    """What sends spans to a collector: at `endpoint`, else where the variables OTEL_EXPORTER_OTLP_… say.

    Raises `EngineError` (500) where the libraries are missing, `ValidationError` (400) for an address that is none.
    """
    try:
        missing = find_spec(_NEEDS) is None
    except ModuleNotFoundError:
        missing = True
    if missing:
        raise EngineError("OpenTelemetry is not installed; to install it: pip install 'engine[otel]'")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=None if endpoint is None else _url(endpoint))


def _url(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValidationError(
            f"{endpoint!r} is not the address of a collector; write for example http://localhost:4318"
        )
    return endpoint if parts.path.strip("/") else endpoint.rstrip("/") + _PATH


def resource() -> Resource:
    """What sends them, with what the variable OTEL_RESOURCE_ATTRIBUTES adds."""
    from importlib.metadata import version

    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    named = Resource({"service.name": "engine", "service.version": version("engine")})
    return Resource.create().merge(named).merge(OTELResourceDetector().detect())


def readable(spans: Iterable[Span], of: Resource) -> list[ReadableSpan]:
    """The spans as the SDK of OpenTelemetry has them."""
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    scope = InstrumentationScope("engine")

    def context(trace_id: str, span_id: str) -> SpanContext:
        return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(1))

    return [
        ReadableSpan(
            name=span.name,
            context=context(span.trace_id, span.span_id),
            parent=context(span.trace_id, span.parent_span_id) if span.parent_span_id else None,
            resource=of,
            attributes=span.attributes,
            kind=SpanKind.CLIENT if span.kind == "model call" else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
            start_time=span.started_at * 1_000_000,
            end_time=span.ended_at * 1_000_000,
            instrumentation_scope=scope,
        )
        for span in spans
    ]
