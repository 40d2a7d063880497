// The compiler of plans: turns the nodes that a builder collected into a definition, its functions and its
// activities.
//   - compile.1: It does not stop at a mistake: it checks every node and collects all mistakes (semantics
//        24).

import type { ActivityContext } from "../../core/context/activity-context.ts";
import {
  activityOptions,
  checkPriority,
  isActivity,
  RUN_OPTIONS,
  type Activity,
  type Orchestration,
} from "../../core/define/definitions.ts";
import type { Definition } from "../../core/define/registrable.ts";
import type { Attempts } from "../../core/define/retry-policy.ts";
import { parseDuration, type Duration } from "../../core/time/duration.ts";
import type { ActivityOptions } from "../../core/history/events.ts";
import { defined } from "../../core/values/defined.ts";
import type { StandardSchema } from "../../core/values/standard-schema.ts";
import type { TaskOptions } from "./builder-types.ts";
import type { FlowNode, Json, KeyedNodes, WorkDefinition } from "../data/definition.ts";
import { isJson } from "../data/json.ts";
import {
  branchPrefix,
  deferPath,
  itemsPath,
  keyPath,
  LEVELS_MAX,
  OTHERWISE,
  TOO_DEEP,
} from "../data/paths.ts";
import type { Plan, PlannedBranch, PlannedNode, PlannedWork } from "./plan.ts";
import type { Targets } from "../run/prepared.ts";
import { refusal } from "./structure.ts";

/** An inline function of a flow, with its schemas. */
export interface OwnFunction {
  readonly fn: (input: never, ctx: ActivityContext) => unknown;
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
}
/** The code that a flow was built with. */
export interface FlowCode {
  /** Inline functions by path. */
  readonly functions: ReadonlyMap<string, OwnFunction>;
  readonly activities: readonly Activity<never, unknown>[];
  readonly targets: Targets;
}
/** The parts of a flow that another flow calls inline. */
export interface Inlined extends FlowCode {
  readonly name: string;
  readonly nodes: readonly FlowNode[];
  /** Whether the flow has an input or output schema. An inline call would skip schemas. */
  readonly hasSchemas: boolean;
}

const CONCURRENCY_DEFAULT = 100;
const ITERATIONS_DEFAULT = 10;
const OPTION_NAMES = [...Object.keys(RUN_OPTIONS), "version", "description", "metadata"];

export class Compilation {
  readonly problems: string[] = [];
  #depth = 0;
  /** Inline functions by path. */
  readonly functions = new Map<string, OwnFunction>();
  /** Activities that the author passed as definitions, by name. */
  readonly activities = new Map<string, Activity<never, unknown>>();
  /** Orchestrations that the author passed to child nodes as definitions, by name. */
  readonly targets = new Map<string, Orchestration<never, unknown>>();
  readonly #inlined: (flow: unknown) => Inlined | null;

  constructor(inlined: (flow: unknown) => Inlined | null) {
    this.#inlined = inlined;
  }

  nodes(plan: Plan, prefix: string): readonly FlowNode[] {
    if (this.#depth > LEVELS_MAX) {
      if (!this.problems.includes(TOO_DEEP)) this.problems.push(TOO_DEEP);
      return [];
    }
    this.#depth += 1;
    try {
      return plan.flatMap((node) => this.#node(node, prefix, prefix + node.id));
    } finally {
      this.#depth -= 1;
    }
  }

  #node(node: PlannedNode, prefix: string, path: string): FlowNode | readonly FlowNode[] {
    const { id } = node;
    switch (node.kind) {
      case "task":
        return { kind: "task", id, ...this.#work(node.work, path), ...this.#defer(node, path) };
      case "fork":
        return {
          kind: "fork",
          id,
          branches: this.#branches(node.branches, path),
          ...this.#onError(node, path),
        };
      case "map":
        return {
          kind: "map",
          id,
          items: this.#work(node.items, itemsPath(path)),
          concurrency: numberOr(node.concurrency, CONCURRENCY_DEFAULT),
          ...this.#onError(node, path),
          nodes: this.nodes(node.plan, `${path}/`),
        };
      case "route":
        return {
          kind: "route",
          id,
          key: this.#work(node.key, keyPath(path)),
          cases: this.#branches(node.cases, path),
          ...(node.otherwise === undefined
            ? {}
            : { otherwise: this.nodes(node.otherwise, branchPrefix(path, OTHERWISE)) }),
          ...(node.envelope ? { envelope: true as const } : {}),
        };
      case "loop":
        return {
          kind: "loop",
          id,
          maxIterations: numberOr(node.maxIterations, ITERATIONS_DEFAULT),
          onMax: this.#oneOf(node.onMax, ["fail", "exitWithLast"], `onMax of loop "${path}"`),
          nodes: this.nodes(node.plan, `${path}/`),
        };
      case "delay":
        return { kind: "delay", id, delayMs: this.#duration(node.duration, `delay "${path}"`) };
      case "wait":
        return this.#wait(node, path);
      case "call":
        return this.#call(node, path);
      case "child":
        return this.#child(node, path);
      case "catch":
        return {
          kind: "catch",
          id,
          nodes: this.nodes(node.plan, prefix),
          handler: this.nodes(node.handler, `${path}/`),
        };
      case "mistake":
        this.problems.push(node.message);
        return [];
    }
  }

  #branches(branches: readonly PlannedBranch[], path: string): readonly KeyedNodes[] {
    return branches.map(({ key, plan }) => ({
      key,
      nodes: this.nodes(plan, branchPrefix(path, key)),
    }));
  }

  #wait(node: PlannedNode & { kind: "wait" }, path: string): FlowNode {
    const { id, signal, timeout, onTimeout } = node;
    const isEvent =
      typeof signal === "object" && signal !== null && "name" in signal && "kind" in signal;
    if (!isEvent || signal.kind !== "event") {
      this.problems.push(`waitFor "${path}" requires an event: event<T>("name")`);
    }
    const policy = this.#oneOf(onTimeout, ["fail", "continue"], `onTimeout of "${path}"`);
    if (onTimeout !== undefined && timeout === undefined) {
      this.problems.push(`onTimeout of "${path}" requires a timeout`);
    }
    return {
      kind: "wait",
      id,
      signal: isEvent ? String(signal.name) : id,
      ...(timeout === undefined
        ? {}
        : { timeoutMs: this.#duration(timeout, `timeout of waitFor "${path}"`) }),
      ...(policy === "continue" ? { onTimeout: policy } : {}),
    };
  }

  #call(node: PlannedNode & { kind: "call" }, path: string): FlowNode | readonly FlowNode[] {
    const flow = this.#inlined(node.flow);
    if (flow === null) {
      this.problems.push(`call "${path}" requires a flow returned by build()`);
      return [];
    }
    for (const [inner, fn] of flow.functions) this.functions.set(`${path}/${inner}`, fn);
    for (const activity of flow.activities) this.#note(activity, this.activities);
    for (const target of flow.targets.values()) this.#note(target, this.targets);
    const { name, nodes } = flow;
    if (flow.hasSchemas) {
      this.problems.push(
        `call "${path}" requires a flow without schemas (call "${name}" with child)`,
      );
    }
    return { kind: "call", id: node.id, flow: name, nodes, ...this.#defer(node, path) };
  }

  #child(node: PlannedNode & { kind: "child" }, path: string): FlowNode {
    const { id, target, onParentClose } = node;
    const definition =
      typeof target === "object" && target !== null && "kind" in target && "name" in target
        ? (target as { kind: unknown; name: unknown; version?: unknown })
        : null;
    const isKnown =
      definition === null ? typeof target === "string" : definition.kind === "orchestration";
    if (!isKnown) this.problems.push(`child "${path}" requires an orchestration, a flow or a name`);
    if (isKnown && definition !== null) {
      this.#note(definition as Orchestration<never, unknown>, this.targets); // Its kind was checked above.
    }
    const version = node.version ?? definition?.version;
    const policy = this.#oneOf(onParentClose, ["cancel", "abandon"], `onParentClose of "${path}"`);
    return {
      kind: "child",
      id,
      orchestration: String(definition?.name ?? target),
      ...(typeof version === "string" ? { version } : {}),
      ...(policy === "abandon" ? { onParentClose: policy } : {}),
      ...this.#priority(node.priority, path),
      ...this.#defer(node, path),
    };
  }

  #priority(value: unknown, path: string): { priority?: number } {
    if (value === undefined) return {};
    const priority = Number(value);
    this.problems.push(...refusal(() => checkPriority(priority, `child "${path}"`)));
    return { priority };
  }

  #defer(node: { readonly defer?: PlannedWork }, path: string): { defer?: WorkDefinition } {
    return node.defer === undefined ? {} : { defer: this.#work(node.defer, deferPath(path)) };
  }

  #work({ run, options, hasNoOptions }: PlannedWork, path: string): WorkDefinition {
    if (hasNoOptions === true) this.problems.push(`the options of "${path}" must be an object`);
    if (isActivity(run)) this.#note(run, this.activities);
    else if (typeof run === "function") {
      this.functions.set(path, { fn: run as OwnFunction["fn"], ...schemasOf(options) });
    } else {
      this.problems.push(`"${path}" requires an activity or a function (got ${typeof run})`);
    }
    const { version, description, metadata } = options;
    const isOwn = !isActivity(run);
    for (const name of Object.keys(options)) {
      if (OPTION_NAMES.includes(name) || (isOwn && (name === "input" || name === "output")))
        continue;
      this.problems.push(`"${path}" has an unknown option "${name}"`);
    }
    if (metadata !== undefined && !isJson(metadata)) {
      this.problems.push(`metadata of "${path}" must be plain JSON`);
    }
    const own = this.#options(options, path);
    const merged = isActivity(run) ? { ...run.options, ...own } : own;
    return {
      ...(isActivity(run) ? { activity: run.name } : {}),
      ...(Object.keys(merged).length === 0 ? {} : { options: merged }),
      ...defined({ version, description }),
      ...(metadata === undefined ? {} : { metadata: metadata as Json }),
    };
  }

  /** Parses the options one at a time, so that each mistake is reported (compile.1). */
  #options(options: TaskOptions, path: string): ActivityOptions {
    const { attempts, retry, ...others } = options;
    const parts = [
      { attempts, retry } as Attempts, // If both are given, they are refused together.
      ...Object.entries(others).map(([name, value]) => ({ [name]: value })),
    ];
    const read = parts.map((part) => this.#tried(() => activityOptions(part, `"${path}"`), {}));
    return Object.assign({}, ...read) as ActivityOptions; // Each part has this type.
  }

  #note<D extends Definition>(definition: D, noted: Map<string, D>): void {
    const { kind, name } = definition;
    if ((noted.get(name) ?? definition) !== definition) {
      const what = kind === "activity" ? "activities" : "orchestrations";
      this.problems.push(`two different ${what} are named "${name}"`);
    }
    noted.set(name, definition);
  }

  #onError(node: { readonly onError: unknown }, path: string): { onError?: "settle" } {
    const policy = this.#oneOf(node.onError, ["fail", "settle"], `onError of "${path}"`);
    return policy === "settle" ? { onError: policy } : {};
  }

  /** The value if it is known, otherwise the first known value. */
  #oneOf<const T extends string>(value: unknown, known: readonly [T, ...T[]], what: string): T {
    if (value === undefined) return known[0];
    const found = known.find((each) => each === value);
    if (found !== undefined) return found;
    this.problems.push(
      `${what} must be ${known.map((each) => `"${each}"`).join(" or ")} (got ${String(value)})`,
    );
    return known[0];
  }

  #duration(value: unknown, what: string): number {
    return this.#tried(() => parseDuration(value as Duration, what), 0); // parseDuration checks any value.
  }

  #tried<T>(read: () => T, instead: T): T {
    let value = instead;
    this.problems.push(...refusal(() => (value = read())));
    return value;
  }
}

/** NaN for a value that is not a number; the structure check reports it. */
function numberOr(value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  return typeof value === "number" ? value : NaN;
}

function schemasOf(options: Readonly<Record<string, unknown>>): Omit<OwnFunction, "fn"> {
  const { input, output } = options as Omit<OwnFunction, "fn">; // Checked when they first validate a value.
  return defined({ input, output });
}
