// The builder of flows. Every method returns a new builder and leaves the old one unchanged.
//   - Every call carries types: In is the input type of the level, Out the output type of its last node.
//   - The builder collects mistakes; `build()` throws one error that lists them all (plan.1).

import type { Activity, EventDef, Orchestration } from "../../core/define/definitions.ts";
import type { Duration } from "../../core/time/duration.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import type {
  SchemaInput,
  SchemaOutput,
  StandardSchema,
} from "../../core/values/standard-schema.ts";
import type {
  Accepts,
  AnyPiece,
  AnyWork,
  At,
  Begins,
  Branches,
  BranchNodes,
  BranchSignals,
  CaseNodes,
  Cases,
  Caught,
  ChildOptions,
  Exhaustive,
  ForkOptions,
  ForkOut,
  FunctionOptions,
  LoopBody,
  LoopOptions,
  LoopOut,
  MapOptions,
  NodesOf,
  None,
  NoExtraCases,
  OnError,
  OnMax,
  OnTimeout,
  OtherwiseOut,
  OutOf,
  Piece,
  Pieces,
  RouteKey,
  RouteOptions,
  RouteOut,
  Settled,
  SignalsOf,
  Takes,
  TaskOptions,
  Under,
  Undo,
  WaitOptions,
  WorkFunction,
} from "./builder-types.ts";
import { makeFlow, type Flow, type FlowSettings } from "../flow.ts";
import {
  branchPlan,
  branchPlans,
  CHILD_OPTIONS,
  FORK_OPTIONS,
  idAndRest,
  idOfFunction,
  LOOP_OPTIONS,
  mistake,
  nameOf,
  unknownOptions,
  WAIT_OPTIONS,
  workOf,
} from "./builder-nodes.ts";
import type { Plan, PlannedNode } from "./plan.ts";

type Start<T> = FlowBuilder<T, T, never, None>;

/** Builds a flow. In is the input type of the level, Out the output type of its last node. */
export class FlowBuilder<In, Out, Signals = never, Nodes = None> implements Piece<
  Out,
  Signals,
  Nodes
> {
  readonly "~plan": Plan;
  declare readonly "~piece"?: {
    readonly out: () => Out;
    readonly signals: () => Signals;
    readonly nodes: () => Nodes;
  };
  readonly #settings: FlowSettings;

  constructor(settings: FlowSettings, plan: Plan = []) {
    this.#settings = settings;
    this["~plan"] = plan;
  }

  /** Adds a step: an activity, or an inline function. */
  then<AI, AO, Name extends string>(
    activity: Activity<AI, AO, Name> & Accepts<AI, Out>,
    options?: TaskOptions,
  ): StepBuilder<In, Awaited<AO>, Signals, Nodes & At<Name, Awaited<AO>>, Out>;
  then<Id extends string, AI, AO>(
    id: Id,
    activity: Activity<AI, AO> & Accepts<AI, Out>,
    options?: TaskOptions,
  ): StepBuilder<In, Awaited<AO>, Signals, Nodes & At<Id, Awaited<AO>>, Out>;
  then<Id extends string, Schema extends StandardSchema, O>(
    id: Id,
    fn: WorkFunction<SchemaOutput<Schema>, O>,
    options: FunctionOptions & { readonly input: Schema & Accepts<SchemaInput<Schema>, Out> },
  ): StepBuilder<In, Awaited<O>, Signals, Nodes & At<Id, Awaited<O>>, Out>;
  then<Id extends string, O>(
    id: Id,
    fn: WorkFunction<Out, O>,
    options?: FunctionOptions & { readonly input?: undefined },
  ): StepBuilder<In, Awaited<O>, Signals, Nodes & At<Id, Awaited<O>>, Out>;
  then<O>(
    fn: WorkFunction<Out, O>,
    options?: FunctionOptions & { readonly input?: undefined },
  ): StepBuilder<In, Awaited<O>, Signals, Nodes, Out>;
  then(...given: readonly unknown[]): never {
    if (typeof given[0] === "function" && typeof given[1] === "function") return awaited(given[1]);
    const { id, rest } = idAndRest(given, (run) => idOfFunction(run, this["~plan"].length));
    return this.#step({ kind: "task", id, work: workOf(rest[0], rest[1]) });
  }

  /** Runs branches concurrently, each with the same input. The output holds their values by key. */
  fork<const B extends Branches<Start<Out>>, E extends OnError = "fail">(
    branches: B,
    options?: ForkOptions<E>,
  ): FlowBuilder<
    In,
    ForkOut<B, E>,
    Signals | BranchSignals<B>,
    Nodes & At<"fork", ForkOut<B, E>> & BranchNodes<"fork", B>
  >;
  fork<Id extends string, const B extends Branches<Start<Out>>, E extends OnError = "fail">(
    id: Id,
    branches: B,
    options?: ForkOptions<E>,
  ): FlowBuilder<
    In,
    ForkOut<B, E>,
    Signals | BranchSignals<B>,
    Nodes & At<Id, ForkOut<B, E>> & BranchNodes<Id, B>
  >;
  fork(...given: readonly unknown[]): never {
    const { id, rest } = idAndRest(given, () => "fork");
    const branches = branchPlans(rest[0], this.#start());
    const { onError } = (rest[1] ?? {}) as ForkOptions;
    const mistakes = unknownOptions(rest[1], FORK_OPTIONS, `fork "${id}"`);
    return this.#with(...mistakes, { kind: "fork", id, branches, onError });
  }

  /**
   * Runs the body once per item, at most `concurrency` at a time. The output holds the values in the items'
   * order.
   */
  map<Id extends string, Item, P extends AnyPiece, E extends OnError = "fail">(
    id: Id,
    items: AnyWork<Out, readonly Item[]>,
    body: (f: Start<Item>) => P,
    options?: MapOptions<E>,
  ): FlowBuilder<
    In,
    MapOut<P, E>,
    Signals | SignalsOf<P>,
    Nodes & At<Id, MapOut<P, E>> & Under<Id, NodesOf<P>>
  > {
    const { concurrency, onError, ...own } = options ?? {};
    const plan = branchPlan(body, this.#start(), `the body of map "${id}"`);
    const work = workOf(items, typeof options === "object" ? own : options);
    return this.#with({ kind: "map", id, items: work, plan, concurrency, onError });
  }

  /**
   * Runs one of several branches. The key function chooses the branch; it runs once and its result is
   * recorded.
   */
  route<Id extends string, K extends RouteKey, C extends Pieces, const E extends boolean = false>(
    id: Id,
    key: AnyWork<Out, K>,
    cases: Cases<C, Start<Out>> & Exhaustive<K, C> & NoExtraCases<K, C>,
    options?: RouteOptions<E> & { readonly otherwise?: undefined },
  ): FlowBuilder<
    In,
    RouteOut<C, E>,
    Signals | SignalsOf<C[keyof C]>,
    Nodes & At<Id, RouteOut<C, E>> & CaseNodes<Id, C>
  >;
  route<
    Id extends string,
    K extends RouteKey,
    C extends Pieces,
    P extends AnyPiece,
    const E extends boolean = false,
  >(
    id: Id,
    key: AnyWork<Out, K>,
    cases: Cases<C, Start<Out>> & NoExtraCases<K, C>,
    options: RouteOptions<E> & { readonly otherwise: (f: Start<Out>) => P },
  ): FlowBuilder<
    In,
    RouteOut<C, E> | OtherwiseOut<K, C, P, E>,
    Signals | SignalsOf<C[keyof C]> | SignalsOf<P>,
    Nodes &
      At<Id, RouteOut<C, E> | OtherwiseOut<K, C, P, E>> &
      CaseNodes<Id, C> &
      Under<`${Id}.otherwise`, NodesOf<P>>
  >;
  route(id: string, key: unknown, cases: unknown, options?: unknown): never {
    const given = (options ?? {}) as RouteOptions & { otherwise?: unknown };
    const { otherwise, envelope, ...own } = given;
    return this.#with({
      kind: "route",
      id,
      key: workOf(key, typeof options === "object" ? own : options),
      cases: branchPlans(cases, this.#start()),
      otherwise:
        otherwise === undefined
          ? undefined
          : branchPlan(otherwise, this.#start(), `otherwise of route "${id}"`),
      envelope: envelope === true,
    });
  }

  /** Runs the body until it returns done(v). again(v) starts the next round with v. */
  loop<Id extends string, P extends AnyPiece, M extends OnMax = "fail">(
    id: Id,
    body: (f: Start<Out>) => P & LoopBody<P, Out>,
    options: LoopOptions<M> = {},
  ): FlowBuilder<
    In,
    LoopOut<P, M>,
    Signals | SignalsOf<P>,
    Nodes & At<Id, LoopOut<P, M>> & Under<Id, NodesOf<P>>
  > {
    const plan = branchPlan(body, this.#start(), `the body of loop "${id}"`);
    const { maxIterations, onMax } = options;
    const mistakes = unknownOptions(options, LOOP_OPTIONS, `loop "${id}"`);
    return this.#with(...mistakes, { kind: "loop", id, plan, maxIterations, onMax });
  }

  /** Waits for a duration, and passes its input on. */
  delay<Id extends string>(
    id: Id,
    duration: Duration,
  ): FlowBuilder<In, Out, Signals, Nodes & At<Id, Out>> {
    return this.#with({ kind: "delay", id, duration });
  }

  /** Waits for a signal, and passes the signal's payload on. */
  waitFor<T, Raised, const O extends OnTimeout = "fail">(
    signal: EventDef<T, Raised>,
    options?: WaitOptions<O>,
  ): FlowBuilder<In, WaitOut<T, O>, Signals | EventDef<T, Raised>, Nodes>;
  waitFor<Id extends string, T, Raised, const O extends OnTimeout = "fail">(
    id: Id,
    signal: EventDef<T, Raised>,
    options?: WaitOptions<O>,
  ): FlowBuilder<In, WaitOut<T, O>, Signals | EventDef<T, Raised>, Nodes & At<Id, WaitOut<T, O>>>;
  waitFor(...given: readonly unknown[]): never {
    const { id, rest } = idAndRest(given, nameOf);
    const [signal, options] = rest;
    const { timeout, onTimeout } = (options ?? {}) as WaitOptions;
    const mistakes = unknownOptions(options, WAIT_OPTIONS, `wait "${id}"`);
    return this.#with(...mistakes, { kind: "wait", id, signal, timeout, onTimeout });
  }

  /** Runs another flow inline, as a part of this instance. */
  call<FI, FO, FS, FN>(
    flow: Flow<FI, FO, FS, FN> & Accepts<FI, Out>,
  ): StepBuilder<In, FO, Signals | FS, Nodes, Out>;
  call<Id extends string, FI, FO, FS, FN>(
    id: Id,
    flow: Flow<FI, FO, FS, FN> & Accepts<FI, Out>,
  ): StepBuilder<In, FO, Signals | FS, Nodes & At<Id, FO> & Under<Id, FN>, Out>;
  call(...given: readonly unknown[]): never {
    const { id, rest } = idAndRest(given, nameOf);
    return this.#step({ kind: "call", id, flow: rest[0] });
  }

  /** Runs an orchestration or a flow as a child instance. */
  child<CI, CO>(
    target: Orchestration<CI, CO> & Accepts<CI, Out>,
    options?: ChildOptions,
  ): StepBuilder<In, CO, Signals, Nodes, Out>;
  child<Id extends string, CI, CO>(
    id: Id,
    target: Orchestration<CI, CO> & Accepts<CI, Out>,
    options?: ChildOptions,
  ): StepBuilder<In, CO, Signals, Nodes & At<Id, CO>, Out>;
  child<Id extends string>(
    id: Id,
    target: string,
    options?: ChildOptions,
  ): StepBuilder<In, unknown, Signals, Nodes & At<Id, unknown>, Out>;
  child(...given: readonly unknown[]): never {
    const { id, rest } = idAndRest(given, nameOf);
    const [target, options] = rest;
    const { version, onParentClose, priority } = (options ?? {}) as ChildOptions;
    const mistakes = unknownOptions(options, CHILD_OPTIONS, `child "${id}"`);
    const node = { kind: "child", id, target, version, onParentClose, priority } as const;
    return this.#step(...mistakes, node);
  }

  /** Handles a failure of any node before it on this level. The compensations of those nodes run first. */
  catch<P extends AnyPiece>(
    handler: (f: Start<Caught<Begins<In>>>) => P,
  ): FlowBuilder<
    In,
    Out | OutOf<P>,
    Signals | SignalsOf<P>,
    Nodes & At<"catch", Out | OutOf<P>> & Under<"catch", NodesOf<P>>
  >;
  catch<Id extends string, P extends AnyPiece>(
    id: Id,
    handler: (f: Start<Caught<Begins<In>>>) => P,
  ): FlowBuilder<
    In,
    Out | OutOf<P>,
    Signals | SignalsOf<P>,
    Nodes & At<Id, Out | OutOf<P>> & Under<Id, NodesOf<P>>
  >;
  catch(...given: readonly unknown[]): never {
    const { id, rest } = idAndRest(given, () => "catch");
    const handler = branchPlan(rest[0], this.#start(), `the branch of catch "${id}"`);
    const node: PlannedNode = { kind: "catch", id, plan: this["~plan"], handler };
    return new FlowBuilder(this.#settings, [node]) as never;
  }

  /** Checks and returns the flow. Throws one INVALID_ARGUMENT error that lists every mistake. */
  build(): Flow<Takes<In>, Out, Signals, Nodes> {
    return makeFlow(this.#settings, this["~plan"]);
  }

  // `never`: the overloads declare the result types, and no single implementation type fits all of them.
  #with(...nodes: PlannedNode[]): never {
    return new FlowBuilder(this.#settings, [...this["~plan"], ...nodes]) as never;
  }
  #step(...nodes: PlannedNode[]): never {
    return new StepBuilder(this.#settings, [...this["~plan"], ...nodes]) as never;
  }
  #start(): FlowBuilder<never, never> {
    return new FlowBuilder(this.#settings);
  }
}

/** A builder whose last node is a step that can have a compensation. */
export class StepBuilder<In, Out, Signals, Nodes, StepIn> extends FlowBuilder<
  In,
  Out,
  Signals,
  Nodes
> {
  readonly #settings: FlowSettings;

  constructor(settings: FlowSettings, plan: Plan) {
    super(settings, plan);
    this.#settings = settings;
  }

  /**
   * Adds a compensation to the previous step. Compensations run if the flow fails or is cancelled after the
   * step, last one first.
   */
  compensate<U>(
    undo: WorkFunction<Undo<StepIn, Out>, U> | Activity<Undo<StepIn, Out>, U>,
    options?: FunctionOptions & { readonly input?: undefined },
  ): FlowBuilder<In, Out, Signals, Nodes> {
    const before = this["~plan"].slice(0, -1);
    const last = this["~plan"].at(-1);
    const isStep = last?.kind === "task" || last?.kind === "call" || last?.kind === "child";
    const node = isStep
      ? { ...last, defer: workOf(undo, options) }
      : mistake("compensate must follow a step");
    return new FlowBuilder(this.#settings, [...before, node]);
  }
}

/**
 * A builder has a `then` method but is not a promise. Without this error, `await builder` would never
 * settle.
 */
function awaited(reject: unknown): never {
  const message = "A flow builder cannot be awaited; call build() and start the flow it returns.";
  (reject as (error: unknown) => void)(new PerdureError("INVALID_ARGUMENT", message));
  return undefined as never;
}

type MapOut<P, E> = E extends "settle" ? Settled<OutOf<P>>[] : OutOf<P>[];
type WaitOut<T, O> = O extends "continue" ? T | null : T;
