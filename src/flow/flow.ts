// A flow: its definition as data, its hash, and the orchestration and activities that run it.
//   FL1. A flow is an orchestration to everything else: registered, started, called and listed like one. Its version
//        is the author's with the hash behind it, so that two structures of one name live side by side (semantics 23).
//   FL2. What is registered with it is everything it runs: its own functions and the activities it was built with.

import type { Activity, Orchestration, OrchestrationOptions } from "../core/definitions.ts";
import { PerdureError } from "../core/errors.ts";
import { checkMembers, type Members } from "../core/known-members.ts";
import { checkSchema, type StandardSchema } from "../core/standard-schema.ts";
import { Compilation, type Inlined, type OwnFunction } from "./compile.ts";
import { DEFINITION_FORMAT, type FlowDefinition, type Json } from "./definition.ts";
import { hashOf } from "./hash.ts";
import { interpreter } from "./interpreter.ts";
import { mermaid } from "./mermaid.ts";
import { nodeList, type FlowNodeInfo } from "./node-list.ts";
import { findOwn, ownActivity, type Functions } from "./own-functions.ts";
import { parseDefinition } from "./parse-definition.ts";
import type { Targets } from "./prepared.ts";
import type { Plan } from "./plan.ts";
import { structureProblems } from "./structure.ts";
import { isJson } from "./json.ts";

/** What may be said about a flow as a whole. */
export interface FlowOptions {
  /** Orders the structures of one name: a start by name takes the newest. Default "1.0.0". */
  readonly version?: string;
  readonly description?: string;
  /** Plain JSON; shown to every step as `ctx.info.flow.flowMetadata`. */
  readonly metadata?: Json;
  /** Must be synchronous where a turn checks it: at the end, and for a child. */
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
  /** Events after which a long flow compacts itself. Default 1,000. Part of the hash where given. */
  readonly compactAfter?: number;
}
const FLOW_OPTIONS: Members<FlowOptions> = {
  version: true,
  description: true,
  metadata: true,
  input: true,
  output: true,
  compactAfter: true,
};
export interface FlowSettings extends FlowOptions {
  readonly name: string;
}
interface FlowParts {
  readonly definition: FlowDefinition;
  readonly functions: ReadonlyMap<string, OwnFunction>;
  readonly activities: readonly Activity<never, unknown>[];
  readonly targets: Targets;
  readonly input?: StandardSchema | undefined;
  readonly output?: StandardSchema | undefined;
}

/** A flow that was built: data to look at, and an orchestration to register, start and call. */
export class Flow<I, O, Signals = never, Nodes = Record<never, never>> implements Orchestration<
  I,
  O,
  Nodes
> {
  readonly kind = "orchestration";
  readonly name: string;
  /** The author's version and the hash: what an instance is pinned to. */
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: Orchestration<I, O>["handler"];
  /** SHA-256 of the structure, as hexadecimal text. */
  readonly hash: string;
  /** All that it runs: its own functions, and the activities that it was built with. */
  readonly activities: readonly Activity<never, unknown>[];
  readonly definition: FlowDefinition;
  declare readonly "~types"?: {
    readonly input: (input: I) => void;
    readonly output: () => O;
    readonly signals: () => Signals;
    readonly nodes: () => Nodes;
  };
  readonly #functions: ReadonlyMap<string, OwnFunction>;
  readonly #given: readonly Activity<never, unknown>[];
  readonly #targets: Targets;

  constructor(parts: FlowParts) {
    const { definition, functions, activities, input, output } = parts;
    this.definition = deepFreeze(definition);
    this.hash = hashOf(definition);
    this.name = definition.name;
    this.version = `${definition.version}+${this.hash}`;
    this.options = {
      version: this.version,
      ...(input === undefined ? {} : { input }),
      ...(output === undefined ? {} : { output }),
    };
    this.handler = interpreter(definition, this.hash, parts.targets);
    this.#targets = parts.targets;
    this.#functions = functions;
    this.#given = activities;
    const own = [...functions].map(([path, fn]) => ownActivity(this, path, fn));
    this.activities = Object.freeze([...own, ...activities]);
    Object.freeze(this);
  }

  /** Every node in order, before what is below it. */
  nodes(): readonly FlowNodeInfo[] {
    return nodeList(this.definition, this.hash);
  }

  /** A Mermaid flow chart. */
  toMermaid(): string {
    return mermaid(this.definition);
  }

  /**
   * The flow of a definition that was stored or sent. Its own functions are found among the activities by their name,
   * `flow@hash8/path`, or in an object by their path. Activities that it names are registered with it if they are given,
   * and orchestrations check the input of children.
   */
  static fromDefinition(
    json: unknown,
    activities: Functions = [],
    schemas: Pick<FlowOptions, "input" | "output"> = {},
  ): Flow<unknown, unknown> {
    const definition = parseDefinition(json);
    const problems = structureProblems(definition);
    const found = findOwn(definition, activities, problems);
    refuse(definition.name, problems);
    return new Flow({ definition, ...found, ...schemas });
  }

  /** Its parts, for a flow that it becomes a part of. */
  static inlined(value: unknown): Inlined | null {
    if (!(value instanceof Flow)) return null;
    const { name, definition, options } = value;
    return {
      name,
      nodes: definition.nodes,
      functions: value.#functions,
      activities: value.#given,
      targets: value.#targets,
      hasSchemas: options.input !== undefined || options.output !== undefined,
    };
  }
}

/** What the compiler knows about a flow. */
export type FlowTypes<F> =
  F extends Flow<infer I, infer O, infer Signals, infer Nodes>
    ? {
        readonly input: I;
        readonly output: O;
        /** The events that it waits for. */
        readonly signals: Signals;
        /** Outputs by path. */
        readonly nodes: { readonly [K in keyof Nodes]: Nodes[K] };
      }
    : never;

/** Refuses what a flow as a whole cannot be told. */
export function checkFlowOptions(name: string, options: FlowOptions): void {
  checkMembers(options, FLOW_OPTIONS, `flow "${name}"`);
  checkSchema(options.input, `input of flow "${name}"`);
  checkSchema(options.output, `output of flow "${name}"`);
}

export function makeFlow<I, O, Signals, Nodes>(
  settings: FlowSettings,
  plan: Plan,
): Flow<I, O, Signals, Nodes> {
  const { name, version = "1.0.0", description, metadata, compactAfter, input, output } = settings;
  const compilation = new Compilation((value) => Flow.inlined(value));
  const nodes = compilation.nodes(plan, "");
  const definition: FlowDefinition = {
    format: DEFINITION_FORMAT,
    name,
    version,
    ...(description === undefined ? {} : { description }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(compactAfter === undefined ? {} : { compactAfter }),
    nodes,
  };
  const problems = [...compilation.problems, ...structureProblems(definition)];
  if (metadata !== undefined && !isJson(metadata)) {
    problems.push("the flow's metadata is not plain JSON");
  }
  refuse(name, problems);
  const { functions, targets } = compilation;
  const activities = [...compilation.activities.values()];
  // What is frozen and hashed is a copy: tags or metadata that the author changes later change nothing.
  return new Flow({
    definition: structuredClone(definition),
    functions,
    activities,
    targets,
    input,
    output,
  });
}

function refuse(name: unknown, problems: readonly string[]): void {
  if (problems.length === 0) return;
  const message = `Flow "${String(name)}" cannot be built: ${problems.join("; ")}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
