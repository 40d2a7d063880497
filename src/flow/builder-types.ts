// The types that flow through a builder: what each combinator takes and makes of what came before.
//   BT1. Wrong wiring is an error at the call, and its message names both sides: that is what Wiring is for.
//   BT2. A callback gives back a Piece, which is all that is asked of a builder: comparing whole builders with each
//        other would cost the compiler far more.

import type { ActivityContext } from "../core/activity-context.ts";
import type { Activity, RunOptions } from "../core/definitions.ts";
import type { Failure } from "../core/failure.ts";
import type { StandardSchema } from "../core/standard-schema.ts";
import type { Json } from "./definition.ts";
import type { Again, Done, LoopResult } from "./loop-result.ts";
import type { Plan } from "./plan.ts";

export type None = Record<never, never>;

/** A part of a flow: the value it gives, the signals it waits for, and its nodes' outputs by path. */
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

/** The input of a flow with a schema: what callers give, and what the schema makes of it. */
export interface Checked<I, B> {
  readonly "~takes": I;
  readonly "~begins": B;
}
export type Takes<In> = [In] extends [Checked<infer I, unknown>] ? I : In;
export type Begins<In> = [In] extends [Checked<unknown, infer B>] ? B : In;

export type WorkFunction<In, Out> = (input: In, ctx: ActivityContext) => Out | Promise<Out>;

/** What may be said about a step. */
export interface TaskOptions extends RunOptions {
  /** Part of the flow's hash: give another one to tell apart instances that ran other code. */
  readonly version?: string;
  readonly description?: string;
  /** Shown to the function as `ctx.info.flow.metadata`. */
  readonly metadata?: Json;
}
/** A function of the flow's own has no definition elsewhere: its schemas are given here. */
export interface FunctionOptions extends TaskOptions {
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
}
/** What may be said about a fork. */
export interface ForkOptions<E extends OnError = OnError> {
  /** "fail" (default): the first failure fails the fork and cancels the rest. "settle": all outcomes are collected. */
  readonly onError?: E;
}
export type OnError = "fail" | "settle";
/** What may be said about a map; the rest is for the function that gives its items. */
export interface MapOptions<E extends OnError = OnError> extends TaskOptions {
  /** Items under way at a time. Default 100. */
  readonly concurrency?: number;
  readonly onError?: E;
}
/** What may be said about a loop. */
export interface LoopOptions<M extends OnMax = OnMax> {
  /** How often the body runs at most. Default 10. */
  readonly maxIterations?: number;
  /** "fail" (default), or "exitWithLast": the value of the last again() is the loop's. */
  readonly onMax?: M;
}
export type OnMax = "fail" | "exitWithLast";
/** What may be said about a wait for a signal. */
export interface WaitOptions<T extends OnTimeout = OnTimeout> {
  readonly timeout?: RunOptions["timeout"];
  /** "fail" (default), or "continue": null is passed on. */
  readonly onTimeout?: T;
}
export type OnTimeout = "fail" | "continue";
/** What may be said about a child. */
export interface ChildOptions {
  /** What the end of the flow does to a child that is still running. Default "cancel". */
  readonly onParentClose?: "cancel" | "abandon";
  /** Another version of the orchestration than the newest, or than the one given. */
  readonly version?: string;
  /** 1 (first) to 5. Default: the flow's. */
  readonly priority?: number;
}

/** How a branch ended whose failure is collected. */
export type Settled<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure };
/** What a catch hands to its branch. */
export interface Caught<In> {
  readonly failure: Failure;
  /** What went into the steps that it watches over. */
  readonly input: In;
  /** The path of the node that failed. */
  readonly node: string;
  /** What went wrong in compensations, if anything did. */
  readonly compensationFailures?: readonly Failure[];
}
/** What a compensation receives: what its step did. */
export interface Undo<In, Out> {
  readonly input: In;
  readonly output: Out;
}

/** The text of a compile error. */
export interface Wiring<Takes, Given> {
  readonly "this step takes": Takes;
  readonly "but it is given": Given;
}
/** Nothing, if a step with this input may follow; else what is wrong. A step without an input may follow any. */
export type Accepts<Takes, Given> = [Given] extends [Takes]
  ? unknown
  : [Takes] extends [undefined]
    ? unknown
    : Wiring<Takes, Given>;

/** The output of one node, under its id; an id that the compiler does not know is left out. */
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

/** A route's key is compared as text. */
export type RouteKey = string | number | boolean;
type IsOpen<K extends RouteKey> = string extends `${K}`
  ? true
  : `${number}` extends `${K}`
    ? true
    : false;
/** What may be said about a route; the rest is for the function that gives its key. */
export interface RouteOptions<E extends boolean = boolean> extends TaskOptions {
  /** The output says which case it was: { branch, result }. */
  readonly envelope?: E;
}
export type Pieces = Readonly<Record<string, AnyPiece>>;
/** From the pieces that the cases give to the functions that give them. */
export type Cases<C, Start> = { readonly [P in keyof C]: (f: Start) => C[P] };
/** Nothing, if every key has its case; else what is missing. */
export type Exhaustive<K extends RouteKey, C> = [`${K}`] extends [keyof C]
  ? unknown
  : IsOpen<K> extends true
    ? { readonly "its keys are open, so it needs { otherwise }": never }
    : { readonly [P in Exclude<`${K}`, keyof C>]: "there is no case for this key" };
/** Nothing, if every case has its key; else those that have none. (While C is being inferred its keys are all texts.) */
export type NoStrangers<K extends RouteKey, C> = string extends keyof C
  ? unknown
  : { readonly [P in Exclude<keyof C, `${K}`>]: "no key leads to this case" };
export type RouteOut<C, E> = {
  [P in keyof C & string]: E extends true ? Envelope<P, OutOf<C[P]>> : OutOf<C[P]>;
}[keyof C & string];
export type OtherwiseOut<K extends RouteKey, C, P, E> = E extends true
  ? Envelope<IsOpen<K> extends true ? string : Exclude<`${K}`, keyof C>, OutOf<P>>
  : OutOf<P>;
/** What a route with `envelope: true` gives. */
export interface Envelope<Branch extends string, Result> {
  readonly branch: Branch;
  readonly result: Result;
}
export type CaseNodes<Id extends string, C> = Merged<
  { [P in keyof C & string]: Under<`${Id}.${P}`, NodesOf<C[P]>> }[keyof C & string]
>;

/** Nothing, if the body of a loop ends as one must; else what is wrong. */
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
