// The builder: a flow under construction. Every call gives a new builder and leaves the old one as it was.
//   BU1. Types flow through every call: In is what the level takes, Out what the last step gives.
//   BU2. Mistakes are collected and told by `build()`, all of them together (PL1).

import type { Activity, EventDef, Orchestration } from "../core/definitions.ts";
import type { Duration } from "../core/duration.ts";
import { PerdureError } from "../core/errors.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../core/standard-schema.ts";
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
  NoStrangers,
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
import { makeFlow, type Flow, type FlowSettings } from "./flow.ts";
import {
  branchPlan,
  branchPlans,
  CHILD_OPTIONS,
  childNode,
  FORK_OPTIONS,
  idAndRest,
  idOfFunction,
  LOOP_OPTIONS,
  nameOf,
  strangersIn,
  WAIT_OPTIONS,
  workOf,
} from "./builder-nodes.ts";
import type { Plan, PlannedNode } from "./plan.ts";

type Start<T> = FlowBuilder<T, T, never, None>;

/** A flow under construction: In is what its level takes, Out what its last step gives. */
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

  /** A step: an activity, or a function of the flow's own with an id. */
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

  /** Branches side by side, each on the same value; gives their values by key. */
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
    const wrong = strangersIn(rest[1], FORK_OPTIONS, `fork "${id}"`);
    return this.#with(...wrong, { kind: "fork", id, branches, onError });
  }

  /** One run of the body for every item, at most `concurrency` at a time; gives their values in order. */
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

  /** One of several branches, by a key that is worked out once and recorded. */
  route<Id extends string, K extends RouteKey, C extends Pieces, const E extends boolean = false>(
    id: Id,
    key: AnyWork<Out, K>,
    cases: Cases<C, Start<Out>> & Exhaustive<K, C> & NoStrangers<K, C>,
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
    cases: Cases<C, Start<Out>> & NoStrangers<K, C>,
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

  /** Runs the body until it ends in done(v); again(v) is the next round's value. */
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
    const wrong = strangersIn(options, LOOP_OPTIONS, `loop "${id}"`);
    return this.#with(...wrong, { kind: "loop", id, plan, maxIterations, onMax });
  }

  /** Waits, however long, and passes the value on. */
  delay<Id extends string>(
    id: Id,
    duration: Duration,
  ): FlowBuilder<In, Out, Signals, Nodes & At<Id, Out>> {
    return this.#with({ kind: "delay", id, duration });
  }

  /** Waits for a signal; its payload is passed on. */
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
    const wrong = strangersIn(options, WAIT_OPTIONS, `wait "${id}"`);
    return this.#with(...wrong, { kind: "wait", id, signal, timeout, onTimeout });
  }

  /** Another flow, as a part of this one. */
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

  /** An orchestration or a flow as an instance of its own. */
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
    const wrong = strangersIn(rest[1], CHILD_OPTIONS, `child "${id}"`);
    return this.#step(...wrong, childNode(id, rest[0], (rest[1] ?? {}) as ChildOptions));
  }

  /** Handles a failure of everything before it on this level; what had been done there is undone first. */
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

  /** The flow, checked. Throws INVALID_ARGUMENT with every mistake that was made. */
  build(): Flow<Takes<In>, Out, Signals, Nodes> {
    return makeFlow(this.#settings, this["~plan"]);
  }

  // What a call gives is what its signature says; no type of an implementation could say it for all of them.
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

/** A builder whose last node is a step that can be undone. */
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

  /** Compensation of the step before: runs, last one first, if the flow fails or is cancelled after it. */
  defer<U>(
    undo: WorkFunction<Undo<StepIn, Out>, U> | Activity<Undo<StepIn, Out>, U>,
    options?: FunctionOptions & { readonly input?: undefined },
  ): FlowBuilder<In, Out, Signals, Nodes> {
    const before = this["~plan"].slice(0, -1);
    const last = this["~plan"].at(-1);
    const mistake = { kind: "mistake", id: "defer", message: "defer follows a step" } as const;
    const isStep = last?.kind === "task" || last?.kind === "call" || last?.kind === "child";
    const node = isStep ? { ...last, defer: workOf(undo, options) } : mistake;
    return new FlowBuilder(this.#settings, [...before, node]);
  }
}

/** A builder has a `then` and is no promise: whoever awaits one would wait for ever. */
function awaited(reject: unknown): never {
  const message = "A flow under construction was awaited; call build() and start what it gives.";
  (reject as (error: unknown) => void)(new PerdureError("INVALID_ARGUMENT", message));
  return undefined as never;
}

type MapOut<P, E> = E extends "settle" ? Settled<OutOf<P>>[] : OutOf<P>[];
type WaitOut<T, O> = O extends "continue" ? T | null : T;
