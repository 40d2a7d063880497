// A flow: its definition, its hash, and the orchestration and activities that run it.
//   - To the rest of the library a flow is an orchestration. Its version is the author's version followed
//        by the hash, so that instances of two structures of one name can run at the same time (semantics
//        23).
//   - Registering a flow also registers its inline functions and the activities that it was built with.

import type { Activity, Orchestration, OrchestrationOptions } from "../core/define/definitions.ts";
import { checkMembers, invalidArgument, type Members } from "../core/checks.ts";
import { defined } from "../core/values/defined.ts";
import { checkSchema, type StandardSchema } from "../core/values/standard-schema.ts";
import { Compilation, type FlowCode, type Inlined } from "./build/compile.ts";
import { DEFINITION_FORMAT, type FlowDefinition, type Json } from "./data/definition.ts";
import { hashOf } from "./data/hash.ts";
import { interpreter } from "./run/interpreter.ts";
import { mermaid } from "./data/mermaid.ts";
import { nodeList, type FlowNodeInfo } from "./data/node-list.ts";
import { findOwn, ownActivity, type Functions } from "./run/own-functions.ts";
import { parseDefinition } from "./data/parse-definition.ts";
import type { Plan } from "./build/plan.ts";
import { structureProblems } from "./build/structure.ts";
import { isJson } from "./data/json.ts";

/** Options of a flow. */
export interface FlowOptions {
  /** Orders the structures of one name: a start by name uses the newest version. Default "1.0.0". */
  readonly version?: string;
  readonly description?: string;
  /** Plain JSON. Every step reads it as `ctx.info.flow.flowMetadata`. */
  readonly metadata?: Json;
  /** Checks the flow's input. Must be synchronous if the flow runs as a child: a turn then checks it. */
  readonly input?: StandardSchema;
  /** Checks the flow's output. Must be synchronous: a turn checks it. */
  readonly output?: StandardSchema;
  /**
   * The number of events after which a long flow compacts its history. Default 1,000. Part of the hash if
   * given.
   */
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
interface FlowParts extends FlowCode {
  readonly definition: FlowDefinition;
  readonly input?: StandardSchema | undefined;
  readonly output?: StandardSchema | undefined;
}

/** A flow: a definition to inspect, and an orchestration to register, start and call. */
export class Flow<I, O, Signals = never, Nodes = Record<never, never>> implements Orchestration<
  I,
  O,
  Nodes
> {
  readonly kind = "orchestration";
  readonly name: string;
  /** The author's version and the hash, as `1.0.0+hash`. An instance is pinned to it. */
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: Orchestration<I, O>["handler"];
  /** SHA-256 of the structure, as hexadecimal text. */
  readonly hash: string;
  /** All activities of the flow: its inline functions, and the activities that it was built with. */
  readonly activities: readonly Activity<never, unknown>[];
  readonly definition: FlowDefinition;
  declare readonly "~types"?: {
    readonly input: (input: I) => void;
    readonly output: () => O;
    readonly signals: () => Signals;
    readonly nodes: () => Nodes;
  };
  readonly #code: FlowCode;

  constructor(parts: FlowParts) {
    const { definition, input, output, ...code } = parts;
    this.definition = deepFreeze(definition);
    this.hash = hashOf(definition);
    this.name = definition.name;
    this.version = `${definition.version}+${this.hash}`;
    this.options = { version: this.version, ...defined({ input, output }) };
    this.handler = interpreter(definition, this.hash, code.targets);
    this.#code = code;
    const own = [...code.functions].map(([path, fn]) => ownActivity(this, path, fn));
    this.activities = Object.freeze([...own, ...code.activities]);
    Object.freeze(this);
  }

  /** Every node in order. A node comes before the nodes inside it. */
  nodes(): readonly FlowNodeInfo[] {
    return nodeList(this.definition, this.hash);
  }

  /** A Mermaid flow chart. */
  toMermaid(): string {
    return mermaid(this.definition);
  }

  /**
   * Creates a flow from a definition that was stored or sent. `activities` supplies its inline functions:
   * as activities named `flow@hash8/path`, or as an object of functions by path. Activities that the
   * definition names are registered with the flow if `activities` contains them. Orchestrations in
   * `activities` check the input of child nodes.
   */
  static fromDefinition(
    json: unknown,
    activities: Functions = [],
    schemas: Pick<FlowOptions, "input" | "output"> = {},
  ): Flow<unknown, unknown> {
    const definition = parseDefinition(json);
    const problems = structureProblems(definition);
    const code = findOwn(definition, activities, problems);
    throwProblems(definition.name, problems);
    return new Flow({ definition, ...code, ...schemas });
  }

  /** The parts of a flow that another flow calls inline. Null: the value is not a flow. */
  static inlined(value: unknown): Inlined | null {
    if (!(value instanceof Flow)) return null;
    const { name, definition, options } = value;
    return {
      name,
      nodes: definition.nodes,
      ...value.#code,
      hasSchemas: options.input !== undefined || options.output !== undefined,
    };
  }
}

/** The types of a flow. */
export type FlowTypes<F> =
  F extends Flow<infer I, infer O, infer Signals, infer Nodes>
    ? {
        readonly input: I;
        readonly output: O;
        /** The events that the flow waits for. */
        readonly signals: Signals;
        /** Outputs of nodes by path. */
        readonly nodes: { readonly [K in keyof Nodes]: Nodes[K] };
      }
    : never;

/** Throws for unknown or invalid options of a flow. */
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
    ...defined({ description, metadata, compactAfter }),
    nodes,
  };
  const problems = [...compilation.problems, ...structureProblems(definition)];
  if (metadata !== undefined && !isJson(metadata)) {
    problems.push("the flow's metadata must be plain JSON");
  }
  throwProblems(name, problems);
  const { functions, targets } = compilation;
  const code = { functions, targets, activities: [...compilation.activities.values()] };
  // The flow keeps a copy: later changes to the author's tags or metadata objects do not affect it.
  return new Flow({ definition: structuredClone(definition), ...code, input, output });
}

function throwProblems(name: unknown, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw invalidArgument(`Flow "${String(name)}" cannot be built: ${problems.join("; ")}.`);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
