// The types of the builder: the input and output types of every builder method.
//   - A step whose input does not fit is a compile error at the call. Its message names both types (Wiring).
//   - A branch function returns a Piece and not a FlowBuilder, because comparing whole builders would slow
//        the compiler down.

import type { ActivityContext } from "../../core/context/activity-context.ts";
import type { Activity, RunOptions } from "../../core/define/definitions.ts";
import type { Failure } from "../../core/errors/failure.ts";
import type { StandardSchema } from "../../core/values/standard-schema.ts";
import type { Json } from "../data/definition.ts";
import type { Again, Done, LoopResult } from "../run/loop-result.ts";
import type { Plan } from "./plan.ts";

export type None = Record<never, never>;

/** A part of a flow: its output, the signals it waits for, and the outputs of its nodes by path. */
export interface Piece<Out, Signals, Nodes> {
  readonly "~plan": Plan;
  readonly "~piece"?: {
    readonly out: () => Out;
    readonly signals: () => Signals;
    readonly nodes: () => Nodes;
  };
}
export type AnyPiece = Piece<unknown, unknown, unknown>;
type Types<P> = P extends { readonly "~piece"?: infer T } ? NonNullable<T> : never;
export type OutOf<P> = Types<P> extends { readonly out: () => infer Out } ? Out : never;
export type SignalsOf<P> = Types<P> extends { readonly signals: () => infer S } ? S : never;
export type NodesOf<P> = Types<P> extends { readonly nodes: () => infer N } ? N : None;

/** The input of a flow with a schema: the type that callers pass, and the type that the schema returns. */
export interface Checked<I, B> {
  readonly "~takes": I;
  readonly "~begins": B;
}
export type Takes<In> = [In] extends [Checked<infer I, unknown>] ? I : In;
export type Begins<In> = [In] extends [Checked<unknown, infer B>] ? B : In;

export type WorkFunction<In, Out> = (input: In, ctx: ActivityContext) => Out | Promise<Out>;

/** Options of a step. */
export type TaskOptions = RunOptions & {
  /**
   * Part of the flow's hash. Change it when the step's behavior changes in a way that running instances
   * must not see.
   */
  readonly version?: string;
  readonly description?: string;
  /** The function reads it as `ctx.info.flow.metadata`. */
  readonly metadata?: Json;
};
/** Options of an inline function, which has no definition that could hold its schemas. */
export type FunctionOptions = TaskOptions & {
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
};
/** Options of a fork. */
export interface ForkOptions<E extends OnError = OnError> {
  /**
   * "fail" (default): the first failure fails the fork and cancels the other branches. "settle": collects
   * all outcomes.
   */
  readonly onError?: E;
}
export type OnError = "fail" | "settle";
/** Options of a map. The inherited ones apply to the function that returns the items. */
export type MapOptions<E extends OnError = OnError> = TaskOptions & {
  /** The maximum number of items processed at the same time. Default 100. */
  readonly concurrency?: number;
  readonly onError?: E;
};
/** Options of a loop. */
export interface LoopOptions<M extends OnMax = OnMax> {
  /** The maximum number of rounds. Default 10. */
  readonly maxIterations?: number;
  /**
   * What happens after `maxIterations`. "fail" (default), or "exitWithLast": the loop's output is the last
   * again(v).
   */
  readonly onMax?: M;
}
export type OnMax = "fail" | "exitWithLast";
/** Options of a wait for a signal. */
export interface WaitOptions<T extends OnTimeout = OnTimeout> {
  readonly timeout?: RunOptions["timeout"];
  /** What happens at the timeout. "fail" (default), or "continue": the output is null. */
  readonly onTimeout?: T;
}
export type OnTimeout = "fail" | "continue";
/** Options of a child. */
export interface ChildOptions {
  /** What happens to a child that is still running when the flow ends. Default "cancel". */
  readonly onParentClose?: "cancel" | "abandon";
  /** The version to run. Default: the version of the given definition; by name, the newest. */
  readonly version?: string;
  /** 1 (runs first) to 5 (runs last). Default: the flow's priority. */
  readonly priority?: number;
}

/** The outcome of a branch or an item with `onError: "settle"`. */
export type Settled<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };
/** The input of a catch's handler. */
export interface Caught<In> {
  readonly failure: Failure;
  /** The input of the guarded nodes. */
  readonly input: In;
  /** The path of the node that failed. */
  readonly node: string;
  /** The failures of compensations. Absent: none failed. */
  readonly compensationFailures?: readonly Failure[];
}
/** The input of a compensation: the input and the output of its step. */
export interface Undo<In, Out> {
  readonly input: In;
  readonly output: Out;
}

/** The text of a compile error. */
export interface Wiring<Takes, Given> {
  readonly "this step takes": Takes;
  readonly "but it is given": Given;
}
/**
 * `unknown` if a step with this input may follow, otherwise the compile error. A step without input may
 * follow any.
 */
export type Accepts<Takes, Given> = [Given] extends [Takes]
  ? unknown
  : [Takes] extends [undefined]
    ? unknown
    : Wiring<Takes, Given>;

/** The output of one node under its id. Omitted if the compiler does not know the id. */
export type At<Id extends string, Out> = string extends Id ? None : { readonly [K in Id]: Out };
export type Under<Prefix extends string, Nodes> = string extends Prefix
  ? None
  : { readonly [K in keyof Nodes & string as `${Prefix}/${K}`]: Nodes[K] };

/** Branches by key: each a function from a builder to a builder. */
export type BranchFunction<Start, P extends AnyPiece = AnyPiece> = (f: Start) => P;
export type Branches<Start> = Readonly<Record<string, BranchFunction<Start>>>;
type PieceOf<F> = F extends (f: never) => infer P ? P : never;

export type ForkOut<B, E> = {
  -readonly [K in keyof B]: E extends "settle"
    ? Settled<OutOf<PieceOf<B[K]>>>
    : OutOf<PieceOf<B[K]>>;
};
export type BranchSignals<B> = { [K in keyof B]: SignalsOf<PieceOf<B[K]>> }[keyof B];
export type BranchNodes<Id extends string, B> = Merged<
  { [K in keyof B & string]: Under<`${Id}.${K}`, NodesOf<PieceOf<B[K]>>> }[keyof B & string]
>;
type Merged<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void
  ? I
  : None;

/** The key of a route. It is compared as text. */
export type RouteKey = string | number | boolean;
type IsOpen<K extends RouteKey> = string extends `${K}`
  ? true
  : `${number}` extends `${K}`
    ? true
    : false;
/** Options of a route. The inherited ones apply to the function that returns the key. */
export type RouteOptions<E extends boolean = boolean> = TaskOptions & {
  /** true: the output is { branch, result }, which names the case that ran. */
  readonly envelope?: E;
};
export type Pieces = Readonly<Record<string, AnyPiece>>;
/** The case functions, for the pieces that they return. */
export type Cases<C, Start> = { readonly [P in keyof C]: (f: Start) => C[P] };
/** `unknown` if every key has a case, otherwise the compile error. */
export type Exhaustive<K extends RouteKey, C> = [`${K}`] extends [keyof C]
  ? unknown
  : IsOpen<K> extends true
    ? { readonly "its keys are open, so it needs { otherwise }": never }
    : { readonly [P in Exclude<`${K}`, keyof C>]: "there is no case for this key" };
/**
 * `unknown` if every case has a key, otherwise the compile error. (While the compiler infers C, its keys
 * are `string`.)
 */
export type NoExtraCases<K extends RouteKey, C> = string extends keyof C
  ? unknown
  : { readonly [P in Exclude<keyof C, `${K}`>]: "no key leads to this case" };
export type RouteOut<C, E> = {
  [P in keyof C & string]: E extends true ? Envelope<P, OutOf<C[P]>> : OutOf<C[P]>;
}[keyof C & string];
export type OtherwiseOut<K extends RouteKey, C, P, E> = E extends true
  ? Envelope<IsOpen<K> extends true ? string : Exclude<`${K}`, keyof C>, OutOf<P>>
  : OutOf<P>;
/** The output of a route with `envelope: true`. */
export interface Envelope<Branch extends string, Result> {
  readonly branch: Branch;
  readonly result: Result;
}
export type CaseNodes<Id extends string, C> = Merged<
  { [P in keyof C & string]: Under<`${Id}.${P}`, NodesOf<C[P]>> }[keyof C & string]
>;

/** `unknown` if the body of a loop returns again(…) or done(…), otherwise the compile error. */
export type LoopBody<P, In> = [OutOf<P>] extends [LoopResult<In, unknown>]
  ? unknown
  : { readonly "a loop's body ends in": LoopResult<In>; readonly "but this one in": OutOf<P> };
export type LoopOut<P, M> =
  | (OutOf<P> extends infer R ? (R extends Done<infer T> ? T : never) : never)
  | (M extends "exitWithLast"
      ? OutOf<P> extends infer R
        ? R extends Again<infer T>
          ? T
          : never
        : never
      : never);

export type AnyWork<In, Out> = Activity<In, Out> | WorkFunction<In, Out>;
