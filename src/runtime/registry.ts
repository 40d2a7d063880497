// The registry: which activities and orchestrations this runtime can run.
//   RG1. A name and version stand for one definition; all duplicates are refused together (semantics 22).
//   RG2. An instance that named no version gets the newest one registered here, or the one the options pin.
//   RG3. What an orchestration brings along (the steps of a flow) is registered with it.

import { hash } from "node:crypto";
import type { Activity, Orchestration } from "../core/definitions.ts";
import {
  cannotRegister,
  findDefinitions,
  type Definition,
  type Registrable,
} from "../core/registrable.ts";
import { compareVersions, parseVersion } from "../core/semver.ts";
import { toldFlows, type ToldFlow } from "../core/told-flows.ts";
import { REPLAY_VERSIONS, targetText } from "../core/targets.ts";

export class Registry {
  readonly #activities = new Map<string, Activity<never, unknown>>();
  readonly #orchestrations = new Map<string, Orchestration<never, unknown>[]>();

  readonly #codes = new Map<Orchestration<never, unknown>, string>();

  readonly #versions: Readonly<Record<string, string>>;

  constructor(
    register: readonly Registrable[],
    options: { readonly versions?: Readonly<Record<string, string>> } = {},
  ) {
    this.#versions = options.versions ?? {};
    const found = findDefinitions(register);
    const problems = [...found.problems];
    for (const definition of found.definitions) this.#add(definition, problems);
    for (const [name, version] of Object.entries(this.#versions)) {
      if (this.orchestration(name, version) !== undefined) continue;
      problems.push(`versions names "${name}" ${version}, which is not registered`);
    }
    if (problems.length > 0) throw cannotRegister(problems);
  }

  #add(definition: Definition, problems: string[]): void {
    if (definition.kind === "activity") {
      const known = this.#activities.get(definition.name);
      if (known === definition) return;
      if (known !== undefined) problems.push(`activity "${definition.name}" is defined twice`);
      else this.#activities.set(definition.name, definition);
    } else {
      const versions = this.#orchestrations.get(definition.name) ?? [];
      if (versions.includes(definition)) return;
      if (versions.some((other) => other.version === definition.version)) {
        problems.push(`orchestration "${definition.name}" ${definition.version} is defined twice`);
        return;
      }
      versions.push(definition);
      versions.sort(newestFirst);
      this.#orchestrations.set(definition.name, versions);
      for (const step of definition.activities ?? []) this.#add(step, problems);
    }
  }

  activity(name: string): Activity<never, unknown> | undefined {
    return this.#activities.get(name);
  }

  /** The given version; when none is given the one that the options pin, or the newest. */
  orchestration(name: string, version: string | null): Orchestration<never, unknown> | undefined {
    const versions = this.#orchestrations.get(name);
    const wanted = version === null || version === "" ? this.#pinned(name) : version;
    if (wanted === undefined) return versions?.[0];
    return versions?.find((definition) => definition.version === wanted);
  }

  #pinned(name: string): string | undefined {
    return Object.hasOwn(this.#versions, name) ? this.#versions[name] : undefined;
  }

  get activities(): readonly Activity<never, unknown>[] {
    return [...this.#activities.values()];
  }

  get activityNames(): readonly string[] {
    return [...this.#activities.keys()];
  }

  /** What to ask the store for: `name` for unpinned starts, `name@version` for pinned instances. */
  get targets(): readonly string[] {
    return [...this.#orchestrations.keys()].flatMap((name) => this.targetsOf(name));
  }

  /** The targets of one name. */
  targetsOf(name: string): readonly string[] {
    const { min, max } = REPLAY_VERSIONS;
    const versions = this.#orchestrations.get(name) ?? [];
    const targets = [name];
    for (let replay = min; replay <= max; replay++) {
      targets.push(...versions.map(({ version }) => targetText(name, version, replay)));
    }
    return targets;
  }

  /** One per target, in the same order: which code runs there (semantics 9a). */
  get codes(): readonly string[] {
    const { min, max } = REPLAY_VERSIONS;
    const codes: string[] = [];
    for (const [name, versions] of this.#orchestrations) {
      const unpinned = this.orchestration(name, null) ?? versions[0];
      if (unpinned === undefined) continue;
      codes.push(this.codeOf(unpinned));
      for (let replay = min; replay <= max; replay++) {
        codes.push(...versions.map((definition) => this.codeOf(definition)));
      }
    }
    return codes;
  }

  /**
   * A fingerprint of the code: the text of the function with its name and version. Code that the function calls is not
   * part of it, because its text cannot be known.
   */
  codeOf(definition: Orchestration<never, unknown>): string {
    const known = this.#codes.get(definition);
    if (known !== undefined) return known;
    const { name, version, handler } = definition;
    const text = Function.prototype.toString.call(handler);
    const code = hash("sha256", JSON.stringify([name, version, text])).slice(0, 32);
    this.#codes.set(definition, code);
    return code;
  }

  /** Flows with their definitions, for whoever looks. */
  get flows(): readonly ToldFlow[] {
    return toldFlows([...this.#orchestrations.values()].flat());
  }

  list(): { activities: readonly string[]; orchestrations: Record<string, readonly string[]> } {
    const orchestrations: Record<string, readonly string[]> = {};
    for (const [name, versions] of this.#orchestrations) {
      orchestrations[name] = versions.map((definition) => definition.version);
    }
    return { activities: this.activityNames, orchestrations };
  }
}

/** Versions that rank the same (structures of one flow) are told apart by text, whatever the order of registration. */
function newestFirst(a: { readonly version: string }, b: { readonly version: string }): number {
  const order = compareVersions(parseVersion(b.version), parseVersion(a.version));
  if (order !== 0) return order;
  return a.version < b.version ? 1 : -1;
}
