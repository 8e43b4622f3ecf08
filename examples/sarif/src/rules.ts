// Which rule a result is about: the driver's, or that of an extension (SARIF 2.1.0, 3.27.5 to 3.27.7, 3.52.3, 3.54).
import { index, list, object, text } from "./json.ts";
import type { Json } from "./json.ts";

/** A descriptor of a rule or notification, and the component of the tool that it belongs to. */
export interface Described {
  /** As in the log, with the parts that a hierarchical id adds. */
  id: string | undefined;
  /** Empty if the log does not describe it. */
  descriptor: Json;
  component: Json;
}

/** Finds the descriptors of one run. */
export class Rules {
  readonly #driver: Json;
  readonly #extensions: readonly Json[];
  /** Descriptors by id, for each list that was used: a log can have tens of thousands of results. */
  readonly #byId = new Map<Json, Map<string, Json>>();

  constructor(run: Json) {
    const tool = object(run.tool);
    this.#driver = object(tool.driver);
    this.#extensions = list(tool.extensions).map(object);
  }

  /** The rule that `result` is about. */
  of(result: Json): Described {
    const reference = object(result.rule);
    const id = text(result.ruleId) ?? text(reference.id);
    const at = index(result.ruleIndex) ?? index(reference.index);
    return this.#find("rules", id, at, object(reference.toolComponent));
  }

  /** The descriptor that a notification refers to. */
  notification(reference: Json): Described {
    return this.#find("notifications", text(reference.id), index(reference.index), object(reference.toolComponent));
  }

  #find(kind: string, id: string | undefined, at: number | undefined, wanted: Json): Described {
    const component = this.#component(wanted);
    if (at !== undefined) {
      const descriptor = object(list(component[kind])[at]);
      return { id: id ?? text(descriptor.id), descriptor, component };
    }
    // Without an index the id decides; many tools leave out the component too.
    const named = Object.keys(wanted).length > 0;
    for (const candidate of named ? [component] : [this.#driver, ...this.#extensions]) {
      const descriptor = id === undefined ? undefined : this.#lookUp(candidate, kind, id);
      if (descriptor) return { id, descriptor, component: candidate };
    }
    return { id, descriptor: {}, component };
  }

  #component(wanted: Json): Json {
    const at = index(wanted.index);
    if (at !== undefined) return this.#extensions[at] ?? {};
    const guid = text(wanted.guid);
    const name = text(wanted.name);
    const same = (component: Json) => (guid === undefined ? component.name === name : component.guid === guid);
    return guid === undefined && name === undefined ? this.#driver : (this.#extensions.find(same) ?? this.#driver);
  }

  #lookUp(component: Json, kind: string, id: string): Json | undefined {
    const descriptors = list(component[kind]);
    if (descriptors.length === 0) return undefined;
    let byId = this.#byId.get(descriptors as unknown as Json);
    if (!byId) {
      byId = new Map(descriptors.map(object).map((descriptor) => [String(descriptor.id), descriptor]));
      this.#byId.set(descriptors as unknown as Json, byId);
    }
    // `CA1000` describes `CA1000/1`, unless that has its own descriptor.
    for (let prefix = id; ; prefix = prefix.slice(0, prefix.lastIndexOf("/"))) {
      const found = byId.get(prefix);
      if (found || !prefix.includes("/")) return found;
    }
  }
}
