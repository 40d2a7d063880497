// The registry: which activities and orchestrations this runtime can run.
//   - A name and version identify one definition. All duplicates are refused in one error (semantics 22).
//   - An instance started without a version gets the newest version registered here, or the one pinned by
//     the options.
//   - Activities that belong to an orchestration (the steps of a flow) are registered with it.

import { hash } from "node:crypto";
import type { Activity, Orchestration, OrchestrationRole } from "../core/define/definitions.ts";
import type { RegisteredWork } from "../core/define/work-matching.ts";
import { jobOrchestration } from "../core/replay/job-code.ts";
import {
  cannotRegister,
  findDefinitions,
  type Definition,
  type Registrable,
} from "../core/define/registrable.ts";
import { compareVersions, JOB_VERSION, parseVersion } from "../core/ids/semver.ts";
import { publishedFlows, type PublishedFlow } from "../core/define/published-flows.ts";
import { REPLAY_VERSIONS } from "../core/history/replay-version.ts";
import { targetText } from "../core/ids/targets.ts";

export class Registry {
  readonly #activities = new Map<string, Activity<never, unknown>>();
  readonly #orchestrations = new Map<string, Orchestration<never, unknown>[]>();

  /** The code of the jobs of each activity. */
  readonly #jobs = new Map<string, Orchestration<never, unknown>>();
  readonly #codes = new Map<Orchestration<never, unknown>, string>();

  readonly #versions: Readonly<Record<string, string>>;
  /** Code of the runtime itself, which is leased and run like any other and is listed nowhere. */
  #own: Orchestration<never, unknown> | null = null;

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
      problems.push(`the option versions names "${name}" ${version}, which is not registered`);
    }
    if (problems.length > 0) throw cannotRegister(problems);
  }

  #add(definition: Definition, problems: string[]): void {
    if (definition.kind === "activity") {
      const known = this.#activities.get(definition.name);
      if (known === definition) return;
      if (known !== undefined) problems.push(`activity "${definition.name}" is defined twice`);
      else {
        this.#activities.set(definition.name, definition);
        this.#jobs.set(definition.name, jobOrchestration(definition));
      }
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

  addOwn(definition: Orchestration<never, unknown>): void {
    this.#own = definition;
  }

  /** Every registered version of every orchestration. */
  get orchestrations(): readonly Orchestration<never, unknown>[] {
    return [...this.#orchestrations.values()].flat();
  }

  activity(name: string): Activity<never, unknown> | undefined {
    return this.#activities.get(name);
  }

  /** The given version; without one, the version pinned by the options, or the newest. */
  orchestration(name: string, version: string | null): Orchestration<never, unknown> | undefined {
    if (version === JOB_VERSION) return this.#jobs.get(name);
    if (name === this.#own?.name) return this.#own;
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

  /**
   * The targets of lease requests: `name` for starts without a version, `name@version` for instances with
   * one.
   */
  get targets(): readonly string[] {
    const jobs = [...this.#jobs.keys()].flatMap(jobTargets);
    const names = [...this.#orchestrations.keys()];
    return names.flatMap((name) => this.targetsOf(name)).concat(jobs, ownTargets(this.#own));
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

  /** One code per target, in the same order: a fingerprint of the code that runs there (semantics 9a). */
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
    for (const job of this.#jobs.values()) {
      codes.push(...jobTargets(job.name).map(() => this.codeOf(job)));
    }
    const own = this.#own;
    if (own !== null) codes.push(...ownTargets(own).map(() => this.codeOf(own)));
    return codes;
  }

  /**
   * A fingerprint of the code: name, version and the text of the function. It does not cover code that
   * the function calls, because that text is unknown.
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

  /** The flows with their definitions, for the dashboard and other clients. */
  get flows(): readonly PublishedFlow[] {
    return publishedFlows(this.orchestrations);
  }

  list(): Pick<RegisteredWork, "activities" | "orchestrations" | "roles"> {
    const orchestrations: Record<string, readonly string[]> = {};
    const roles: Record<string, OrchestrationRole> = {};
    for (const [name, versions] of this.#orchestrations) {
      orchestrations[name] = versions.map((definition) => definition.version);
      const role = versions[0]?.role;
      if (role !== undefined) roles[name] = role;
    }
    const hasRoles = Object.keys(roles).length > 0;
    return { activities: this.activityNames, orchestrations, ...(hasRoles ? { roles } : {}) };
  }
}

/** The targets of the runtime's own code. */
function ownTargets(own: Orchestration<never, unknown> | null): readonly string[] {
  if (own === null) return [];
  const { min, max } = REPLAY_VERSIONS;
  const targets = [own.name];
  for (let replay = min; replay <= max; replay++) {
    targets.push(targetText(own.name, own.version, replay));
  }
  return targets;
}

/** The targets of the jobs of an activity. */
function jobTargets(name: string): readonly string[] {
  const { min, max } = REPLAY_VERSIONS;
  const targets: string[] = [];
  for (let replay = min; replay <= max; replay++) {
    targets.push(targetText(name, JOB_VERSION, replay));
  }
  return targets;
}

/**
 * Versions that rank equal (structures of one flow) are ordered by text, so that the order of
 * registration does not matter.
 */
function newestFirst(a: { readonly version: string }, b: { readonly version: string }): number {
  const order = compareVersions(parseVersion(b.version), parseVersion(a.version));
  return order || (a.version < b.version ? 1 : -1);
}
