// A document that anybody may have written: every property may be missing, or something else than it should be.

/** A JSON object. */
export type Json = { readonly [key: string]: unknown };

/** `value` if it is an object, else an empty one: then every property of it is missing, which all readers stand. */
export function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

/** `value` if it is an array, else an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** `value` if it is a text that says something. */
export function text(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

/** `value` if it is a place in an array; the format writes -1 for none. */
export function index(value: unknown): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

/** The own property `key` of `holder`: a document may name a key `constructor`. */
export function own(holder: Json, key: string): unknown {
  return Object.hasOwn(holder, key) ? holder[key] : undefined;
}
