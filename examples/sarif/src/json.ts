// Access to untrusted JSON: every property may be missing or have the wrong type.

/** A JSON object. */
export type Json = { readonly [key: string]: unknown };

/** `value` if it is an object, else an empty object: all readers accept that every property is missing. */
export function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

/** `value` if it is an array, else an empty array. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** `value` if it is a text that is not blank. */
export function text(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

/** `value` if it is an index of an array; in the format, -1 means none. */
export function index(value: unknown): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/** The own property `key` of `holder`: a document may have a key `constructor`. */
export function own(holder: Json, key: string): unknown {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}
