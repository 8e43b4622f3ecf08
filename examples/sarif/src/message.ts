// Messages (SARIF 2.1.0, 3.11): text given directly or looked up by id, with placeholders and links.
import { list, object, own, text } from "./json.ts";
import type { Json } from "./json.ts";
import type { Described } from "./rules.ts";

/** `message` as plain text. `undefined`: it is empty, or has the id of a text that the log does not have. */
export function message(message: Json, { descriptor, component }: Described): string | undefined {
  const given = text(message.text) ?? text(message.markdown);
  if (given !== undefined) {
    // Without arguments, tools write single braces, although the format requires that they are doubled.
    return withoutLinks(Array.isArray(message.arguments) ? withArguments(given, message.arguments) : given);
  }
  const id = text(message.id);
  if (id === undefined) return undefined;
  const strings = [descriptor.messageStrings, component.globalMessageStrings].map(object);
  const found = strings.map((known) => object(own(known, id))).find((candidate) => text(candidate.text) ?? text(candidate.markdown));
  if (!found) return undefined;
  return withoutLinks(withArguments(text(found.text) ?? text(found.markdown) ?? "", list(message.arguments)));
}

/** `{0}` becomes the first argument; doubled braces are single ones. A placeholder without an argument stays visible. */
function withArguments(template: string, given: readonly unknown[]): string {
  return template.replace(/\{\{|\}\}|\{(\d{1,9})\}/g, (found, number?: string) => {
    if (number === undefined) return found.charAt(0);
    const argument = given[Number(number)];
    return typeof argument === "string" ? argument : found;
  });
}

/** `[here](1)` links to a location by its number, which has no meaning outside a viewer: only the text stays. */
function withoutLinks(said: string): string {
  return said.replace(/(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]\(\d+\)/g, "$1").replace(/\\([\[\]\\])/g, "$1");
}
