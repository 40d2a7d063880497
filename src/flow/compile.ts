// From what a builder collected to a definition, its functions and its activities.
//   CO1. Everything is looked at, whatever is wrong before it: mistakes come out together (semantics 24).

import type { ActivityContext } from "../core/activity-context.ts";
import {
  activityOptions,
  checkPriority,
  type Activity,
  type Orchestration,
} from "../core/definitions.ts";
import { parseDuration, type Duration } from "../core/duration.ts";
import type { ActivityOptions } from "../core/history-events.ts";
import type { StandardSchema } from "../core/standard-schema.ts";
import type { TaskOptions } from "./builder-types.ts";
import type { FlowNode, Json, Keyed, WorkDefinition } from "./definition.ts";
import { isJson } from "./json.ts";
import {
  branchPrefix,
  deferPath,
  itemsPath,
  keyPath,
  LEVELS_MAX,
  OTHERWISE,
  TOO_DEEP,
} from "./paths.ts";
import {
  isActivity,
  type Plan,
  type PlannedBranch,
  type PlannedNode,
  type PlannedWork,
} from "./plan.ts";
import { refusal } from "./structure.ts";

/** A function of the flow's own, as its activity will run it. */
export interface OwnFunction {
  readonly fn: (input: never, ctx: ActivityContext) => unknown;
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
}
/** What a flow that is called inline brings along. */
export interface Inlined {
  readonly name: string;
  readonly nodes: readonly FlowNode[];
  readonly functions: ReadonlyMap<string, OwnFunction>;
  readonly activities: readonly Activity<never, unknown>[];
  readonly targets: ReadonlyMap<string, Orchestration<never, unknown>>;
  /** Whether values are checked, and changed, where it begins or ends as a flow of its own. */
  readonly hasSchemas: boolean;
}

const CONCURRENCY_DEFAULT = 100;
const ITERATIONS_DEFAULT = 10;
const OPTION_NAMES: readonly string[] = [
  "retry",
  "timeout",
  "scheduleToClose",
  "priority",
  "tags",
  "session",
  "heartbeatTimeout",
  "version",
  "description",
  "metadata",
];

export class Compilation {
  readonly problems: string[] = [];
  #depth = 0;
  /** By path. */
  readonly functions = new Map<string, OwnFunction>();
  /** Activities that were given as such, by name. */
  readonly activities = new Map<string, Activity<never, unknown>>();
  /** Orchestrations that children were given as such, by name. */
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

  #node(node: PlannedNode, prefix: string, path: string): readonly FlowNode[] {
    const { id } = node;
    switch (node.kind) {
      case "task":
        return [{ kind: "task", id, ...this.#work(node.work, path), ...this.#defer(node, path) }];
      case "fork":
        return [
          {
            kind: "fork",
            id,
            branches: this.#branches(node.branches, path),
            ...this.#onError(node, path),
          },
        ];
      case "map":
        return [
          {
            kind: "map",
            id,
            items: this.#work(node.items, itemsPath(path)),
            concurrency: numberOr(node.concurrency, CONCURRENCY_DEFAULT),
            ...this.#onError(node, path),
            nodes: this.nodes(node.plan, `${path}/`),
          },
        ];
      case "route":
        return [
          {
            kind: "route",
            id,
            key: this.#work(node.key, keyPath(path)),
            cases: this.#branches(node.cases, path),
            ...(node.otherwise === undefined
              ? {}
              : { otherwise: this.nodes(node.otherwise, branchPrefix(path, OTHERWISE)) }),
            ...(node.envelope ? { envelope: true as const } : {}),
          },
        ];
      case "loop":
        return [
          {
            kind: "loop",
            id,
            maxIterations: numberOr(node.maxIterations, ITERATIONS_DEFAULT),
            onMax: this.#oneOf(node.onMax, ["fail", "exitWithLast"], `onMax of loop "${path}"`),
            nodes: this.nodes(node.plan, `${path}/`),
          },
        ];
      case "delay":
        return [{ kind: "delay", id, delayMs: this.#duration(node.duration, `delay "${path}"`) }];
      case "wait":
        return [this.#wait(node, path)];
      case "call":
        return this.#call(node, path);
      case "child":
        return [this.#child(node, path)];
      case "catch":
        return [
          {
            kind: "catch",
            id,
            nodes: this.nodes(node.plan, prefix),
            handler: this.nodes(node.handler, `${path}/`),
          },
        ];
      case "mistake":
        this.problems.push(node.message);
        return [];
    }
  }

  #branches(branches: readonly PlannedBranch[], path: string): readonly Keyed[] {
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
      this.problems.push(`waitFor "${path}" takes an event: event<T>("name")`);
    }
    const policy = this.#oneOf(onTimeout, ["fail", "continue"], `onTimeout of "${path}"`);
    if (onTimeout !== undefined && timeout === undefined) {
      this.problems.push(`onTimeout of "${path}" says nothing without a timeout`);
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

  #call(node: PlannedNode & { kind: "call" }, path: string): readonly FlowNode[] {
    const flow = this.#inlined(node.flow);
    if (flow === null) {
      this.problems.push(`call "${path}" takes a flow that was built`);
      return [];
    }
    for (const [inner, fn] of flow.functions) this.functions.set(`${path}/${inner}`, fn);
    for (const activity of flow.activities) this.#note(activity);
    for (const target of flow.targets.values()) this.#noteTarget(target);
    if (flow.hasSchemas) {
      this.problems.push(
        `call "${path}" takes a flow without schemas; call "${flow.name}" as a child`,
      );
    }
    const { id } = node;
    const { name, nodes } = flow;
    return [{ kind: "call", id, flow: name, nodes, ...this.#defer(node, path) }];
  }

  #child(node: PlannedNode & { kind: "child" }, path: string): FlowNode {
    const { id, target, onParentClose } = node;
    const definition =
      typeof target === "object" && target !== null && "kind" in target && "name" in target
        ? (target as { kind: unknown; name: unknown; version?: unknown })
        : null;
    const isKnown =
      definition === null ? typeof target === "string" : definition.kind === "orchestration";
    if (!isKnown) this.problems.push(`child "${path}" takes an orchestration, a flow or a name`);
    if (isKnown && definition !== null) {
      this.#noteTarget(definition as Orchestration<never, unknown>); // by its kind
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
    if (hasNoOptions === true) this.problems.push(`the options of "${path}" are an object`);
    if (isActivity(run)) this.#note(run);
    else if (typeof run === "function") {
      this.functions.set(path, { fn: run as OwnFunction["fn"], ...schemasOf(options) });
    } else {
      this.problems.push(`"${path}" takes an activity or a function, not ${typeof run}`);
    }
    const { version, description, metadata } = options;
    const isOwn = !isActivity(run);
    for (const name of Object.keys(options)) {
      if (OPTION_NAMES.includes(name) || (isOwn && (name === "input" || name === "output")))
        continue;
      this.problems.push(`"${path}" has an option "${name}" that no step knows`);
    }
    if (metadata !== undefined && !isJson(metadata)) {
      this.problems.push(`metadata of "${path}" is not plain JSON`);
    }
    const own = this.#options(options, path);
    const merged = isActivity(run) ? { ...run.options, ...own } : own;
    return {
      ...(isActivity(run) ? { activity: run.name } : {}),
      ...(Object.keys(merged).length === 0 ? {} : { options: merged }),
      ...(version === undefined ? {} : { version }),
      ...(description === undefined ? {} : { description }),
      ...(metadata === undefined ? {} : { metadata: metadata as Json }),
    };
  }

  /** One at a time: each mistake is told (CO1). */
  #options(options: TaskOptions, path: string): ActivityOptions {
    const read = Object.entries(options).map(([name, value]) =>
      this.#tried(() => activityOptions({ [name]: value }, `"${path}"`), {}),
    );
    return Object.assign({}, ...read) as ActivityOptions; // of such parts
  }

  #note(activity: Activity<never, unknown>): void {
    const known = this.activities.get(activity.name);
    if (known !== undefined && known !== activity) {
      this.problems.push(`two different activities are named "${activity.name}"`);
    }
    this.activities.set(activity.name, activity);
  }

  #noteTarget(target: Orchestration<never, unknown>): void {
    const known = this.targets.get(target.name);
    if (known !== undefined && known !== target) {
      this.problems.push(`two different orchestrations are named "${target.name}"`);
    }
    this.targets.set(target.name, target);
  }

  #onError(node: { readonly onError: unknown }, path: string): { onError?: "settle" } {
    const policy = this.#oneOf(node.onError, ["fail", "settle"], `onError of "${path}"`);
    return policy === "settle" ? { onError: policy } : {};
  }

  /** The first of them unless another is given. */
  #oneOf<const T extends string>(value: unknown, known: readonly [T, ...T[]], what: string): T {
    if (value === undefined) return known[0];
    const found = known.find((each) => each === value);
    if (found !== undefined) return found;
    this.problems.push(
      `${what} is ${known.map((each) => `"${each}"`).join(" or ")}, not ${String(value)}`,
    );
    return known[0];
  }

  #duration(value: unknown, what: string): number {
    return this.#tried(() => parseDuration(value as Duration, what), 0); // judged there, whatever it is
  }

  #tried<T>(read: () => T, instead: T): T {
    let value = instead;
    this.problems.push(...refusal(() => (value = read())));
    return value;
  }
}

/** What is no number is judged with the structure. */
function numberOr(value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  return typeof value === "number" ? value : NaN;
}

function schemasOf(options: Readonly<Record<string, unknown>>): Omit<OwnFunction, "fn"> {
  const { input, output } = options as Omit<OwnFunction, "fn">; // judged by whoever validates with them
  return { ...(input === undefined ? {} : { input }), ...(output === undefined ? {} : { output }) };
}
