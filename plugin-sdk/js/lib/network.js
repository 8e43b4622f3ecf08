/** What a check reaches: requests to web servers, name resolution, and connection attempts. */
import { text } from "./text.js";
import { Utf8Decoder } from "./utf8.js";

/** The most targets that the host takes at once. */
export const MAX_TARGETS = 1024;
/** The maximum of a 32-bit number, in which the host takes times. */
const MAX_TIME = 2 ** 32 - 1;

/** A request, a resolution or a connection attempt failed. */
export class NetworkError extends Error {
  constructor(kind, cause) {
    super(cause);
    this.name = "NetworkError";
    /** `denied`, `not-found`, `refused`, `timeout`, `tls` or `other`. */
    this.kind = kind;
  }

  /** Whether the failure says something about the target. */
  get isOfTarget() {
    return this.kind !== "denied" && this.kind !== "other";
  }
}

/** An HTTP response. */
export class Response {
  constructor({ status, headers = [], body = new Uint8Array(0), certificate, address = "" }) {
    Object.assign(this, { status, headers, body, certificate, address });
  }

  /** Returns the first value of a header field, whose name is in lower case. */
  header(name) {
    return this.headers.find(([known]) => known === name)?.[1];
  }

  /** Returns the body as text. */
  text() {
    const decoder = new Utf8Decoder();
    return decoder.decode(this.body) + decoder.end();
  }
}

/** Converts a request for the host. */
export function wireRequest({ method = "GET", url, headers = {}, body = new Uint8Array(0), trust = "system", timeout = 10_000 }) {
  return {
    method: text(method),
    url: text(url),
    headers: Object.entries(headers).map(([name, value]) => [text(name), text(value)]),
    body,
    trust: wireTrust(trust),
    timeoutMs: Math.max(milliseconds(timeout), 1),
  };
}

function wireTrust(trust) {
  if (trust === "system" || trust === "any") return { tag: trust };
  if (typeof trust?.certificates !== "string") throw new TypeError("`trust` is not `system`, `any` or `{ certificates }`");
  return { tag: "certificates", val: text(trust.certificates) };
}

/** Converts a target for the host. The engine would use an invalid port modulo 65,536. */
export function wireTarget({ host, port }) {
  if (!Number.isInteger(port) || port < 0 || port > 0xffff) throw new RangeError(`invalid port of \`${host}\`: ${port}`);
  return { host: text(host), port };
}

/** Returns a time for the host, rounded up. */
export function milliseconds(time) {
  return Math.min(Math.max(Math.ceil(time) || 0, 0), MAX_TIME);
}
