// The types of entities: what handlers receive, and what callers can call.

import type { AskOptions } from "../client/calls/ask-item.ts";
import type { ContextAskOptions, OrchestrationContext, Task } from "../core/context/types.ts";

/** The first argument of a handler. */
export interface Self<State> {
  /** The key of the entity. */
  readonly key: string;
  /** The state. Change it in place, or assign a new one. A handler that throws leaves it as it was. */
  state: State;
  /** For activities, timers and calls of other instances. While a handler waits, other calls of this key wait. */
  readonly ctx: OrchestrationContext;
}

/** The input of an entity's execution. Stores hold it, so its member keeps its name. */
export interface EntityInput {
  /** Null: the entity begins with the state of its definition. */
  readonly state: { readonly value: unknown } | null;
}

/** The parameters of a function after its first one. */
type Rest<F> = F extends (first: never, ...rest: infer R) => unknown ? R : never;
type Result<F> = F extends (...args: never) => infer R ? Awaited<R> : never;
type Input<F> = Rest<F> extends [] ? undefined : Rest<F>[0];
/** The input may be left out if the function has none. Options come last. */
type Arguments<F, Options> =
  [] extends Rest<F> ? [input?: Input<F>, options?: Options] : [input: Input<F>, options?: Options];

/** The calls of an entity by a client. */
export type ClientCalls<Handlers, Reads> = {
  readonly [Name in keyof Handlers]: (
    ...args: Arguments<Handlers[Name], AskOptions>
  ) => Promise<Result<Handlers[Name]>>;
} & {
  readonly [Name in keyof Reads]: (
    ...args: Arguments<Reads[Name], never>
  ) => Promise<Result<Reads[Name]>>;
};

/** The calls of an entity by an orchestration. */
export type ContextCalls<Handlers, Reads> = {
  readonly [Name in keyof Handlers]: (
    ...args: Arguments<Handlers[Name], Pick<ContextAskOptions, "timeout">>
  ) => Task<Result<Handlers[Name]>>;
} & {
  readonly [Name in keyof Reads]: (
    ...args: Arguments<Reads[Name], never>
  ) => Task<Result<Reads[Name]>>;
};
